import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Projects

/// Command of a service about a verification.
protocol ServiceVerificationCommand: AdministratorCommand {
  /// Expected app of the verification.
  var expectedApp: String? { get }
  /// The service's key of the request.
  var requestKey: String? { get }

  /// The request that is passed on to the coordinator.
  func request(of envelope: Envelope, _ reader: CommandReader) throws(APIError) -> VerificationRequest
}

/// Request of a service that the coordinator carries out.
enum VerificationRequest: Sendable {
  case start(StartVerification)
  case check(GivenCode)
  case get(verificationID: String)
  case cancel(verificationID: String)

  /// Parts of a fingerprint. The language is none. Nor is the client here, which the coordinator compares: the network
  /// and instance of a start's client are part of what an idempotency key stands for.
  var parts: [String] {
    switch self {
    case .start(let start): [start.phoneNumber, start.region ?? ""]
    case .check(let given): [given.verificationID, given.code.reveal()]
    case .get(let id), .cancel(let id): [id]
    }
  }
}

extension StartServiceVerification: ServiceVerificationCommand {
  var expectedApp: String? { app }
  var requestKey: String? { idempotencyKey }

  func request(of envelope: Envelope, _ reader: CommandReader) throws(APIError) -> VerificationRequest {
    let app = try reader.project(project).appOfCode(app)
    _ = try ClientAddress(of: client)
    var start = StartVerification(
      phoneNumber: phoneNumber, app: app, languageCode: languageCode, client: client, purpose: .verification)
    start.region = region
    return .start(start)
  }
}

extension CheckServiceVerification: ServiceVerificationCommand {
  var expectedApp: String? { app }
  var requestKey: String? { idempotencyKey }

  func request(of envelope: Envelope, _ reader: CommandReader) throws(APIError) -> VerificationRequest {
    let id = try VerificationRequest.id(verificationID)
    let code = try reader.open(code, "code", of: envelope, replyKey: nil)
    return .check(
      try GivenCode(
        code.isEmpty ? nil : code, of: Secret(id), project: project, app: app, client: client))
  }
}

extension GetServiceVerification: ServiceVerificationCommand {
  var expectedApp: String? { app }
  var requestKey: String? { nil }

  func request(of envelope: Envelope, _ reader: CommandReader) throws(APIError) -> VerificationRequest {
    .get(verificationID: try VerificationRequest.id(verificationID))
  }
}

extension CancelServiceVerification: ServiceVerificationCommand {
  var expectedApp: String? { app }
  var requestKey: String? { idempotencyKey }

  func request(of envelope: Envelope, _ reader: CommandReader) throws(APIError) -> VerificationRequest {
    .cancel(verificationID: try VerificationRequest.id(verificationID))
  }
}

extension VerificationRequest {
  /// The coordinator's IDs are those of records.
  fileprivate static func id(_ text: String) throws(APIError) -> String {
    guard RecordID(VerificationCall.kind, text) != nil else { throw .unknownVerification }
    return text
  }
}
