import CountersignMessages
import CountersignTelemetry
import Projects

/// Verifications for servers, whose bearer is the access token of a service account. Fields, answers and codes of errors
/// are those of the contract. `Config/openapi.json` describes them.
struct VerificationCalls: Sendable {
  let backend: Backend

  var routes: [Route] {
    [
      .verifications("startVerification", .post, "", start),
      .verifications("checkVerification", .post, "/{verification}/check", check),
      .verifications("getVerification", .get, "/{verification}", get),
      .verifications("cancelVerification", .delete, "/{verification}", cancel),
    ]
  }

  /// Whether a path is one of these calls, or would be with another ID.
  static func isPath(_ path: some StringProtocol) -> Bool {
    path.hasPrefix("/v1/verifications/") || path.hasPrefix("/v1/projects/") && path.contains("/verifications/")
  }

  private func start(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let fields = try VerificationFields(call, VerificationFields.start)
    let exchange = backend.exchange(StartServiceVerification.self)
    var command = StartServiceVerification(
      project: try call.project().id, app: try fields.required("app"), phoneNumber: try fields.required("phoneNumber"))
    command.bearer = try exchange.seal(ifAny: call.bearer)
    command.idempotencyKey = try IdempotencyKey.text(of: call.request)
    command.region = try fields.text("region")
    command.languageCode = try fields.text("languageCode")
    command.client = try fields.client()
    return try await ask(command, exchange)
  }

  private func check(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let fields = try VerificationFields(call, VerificationFields.check)
    let exchange = backend.exchange(CheckServiceVerification.self)
    var command = CheckServiceVerification(
      project: try call.project().id, verificationID: try fields.verificationID(),
      code: try exchange.seal(try fields.required("code")))
    command.bearer = try exchange.seal(ifAny: call.bearer)
    command.idempotencyKey = try IdempotencyKey.text(of: call.request)
    command.app = try fields.text("app")
    command.client = try fields.client()
    return try await ask(command, exchange)
  }

  private func get(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let fields = try VerificationFields(call, [])
    let exchange = backend.exchange(GetServiceVerification.self)
    var command = GetServiceVerification(
      project: try call.project().id, verificationID: try fields.verificationID())
    command.bearer = try exchange.seal(ifAny: call.bearer)
    return try await ask(command, exchange)
  }

  private func cancel(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let fields = try VerificationFields(call, [])
    let exchange = backend.exchange(CancelServiceVerification.self)
    var command = CancelServiceVerification(
      project: try call.project().id, verificationID: try fields.verificationID())
    command.bearer = try exchange.seal(ifAny: call.bearer)
    command.idempotencyKey = try IdempotencyKey.text(of: call.request)
    return try await ask(command, exchange)
  }

  private func ask<C: AdministratorCommand>(
    _ command: C, _ exchange: CommandExchange<C>
  ) async throws(ProtocolError) -> CallAnswer {
    switch try await exchange.attempt(command, timeout: Broker.startTimeout) {
    case .success(let reply): return try CallAnswer(reply)
    case .failure(let error): throw ProtocolError(ofVerification: error) ?? exchange.refusal(error)
    }
  }
}

extension Route {
  /// Call of servers about verifications: below `projects/{project}`, and under the same name without it.
  fileprivate static func verifications(
    _ name: String, _ method: Method, _ path: String, _ implementation: @escaping Implementation
  ) -> Route {
    var route = Route(
      name, method, ["/v1/verifications\(path)", "/v1/projects/{project}/verifications\(path)"],
      access: .administrator, waitsFor: .verifications, implementation)
    route.errorForm = .problem
    return route
  }
}
