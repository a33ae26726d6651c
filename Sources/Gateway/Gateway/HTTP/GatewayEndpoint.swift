import CountersignMessages
import CountersignTelemetry
import HTTPServer

final class GatewayEndpoint: Sendable {
  /// Duration from which a request is logged as slow. Most take some milliseconds.
  static let slow: Duration = .seconds(3)
  private enum Name {
    static let unknown = "unknown"
    static let preflight = "preflight"
  }

  private let router: CallRouter
  private let reader: CallReader
  private let places: CallPlaces
  private let answerTime: Duration
  private let isDevelopment: Bool
  private let clock: any MonotonicClock
  private let metrics: GatewayMetrics
  private let logger: Logger
  private let gate = LogGate()

  init(
    _ routes: [Route], _ rules: GatewayRules, proxies: TrustedProxies, maxInFlight: Int,
    answerTime: Duration = CallLimits.answerTime, clock: any MonotonicClock, metrics: GatewayMetrics, logger: Logger
  ) {
    // Outside development mode their addresses do not exist.
    let routes = routes.filter { rules.isDevelopment || $0.access != .development }
    for route in routes { metrics.begin(route.name) }
    router = CallRouter(routes)
    reader = CallReader(rules: rules, proxies: proxies)
    places = CallPlaces(perClass: maxInFlight, metrics: metrics)
    isDevelopment = rules.isDevelopment
    self.answerTime = answerTime
    self.clock = clock
    self.metrics = metrics
    self.logger = logger
  }

  func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    let start = clock.now()
    let requestID = MessageID.make()
    if CrossOrigin.isPreflight(request) {
      let permission = CrossOrigin.preflight(request, isDevelopment: isDevelopment)
      return note(permission, Name.preflight, requestID, since: start)
    }
    let match = router.find(request)
    let response: HTTPServerResponse
    do throws(ProtocolError) {
      let outcome = try await places.hold(match.route?.waitsFor ?? .gateway) { () async throws(ProtocolError) in
        try await self.answer(request, match, requestID, start)
      }
      response = HTTPServerResponse(outcome)
    } catch {
      response = HTTPServerResponse(error, form: match.errorForm(of: request), request)
    }
    return finish(response, request, match, requestID, since: start)
  }

  func maxBodyBytes(of request: HTTPServerRequest) -> Int { router.find(request).bodyLimits.bytes }

  /// Answer to a request that the server does not read to its end.
  func refusal(_ request: HTTPServerRequest, _ reason: HTTPServerRefusal) -> HTTPServerResponse {
    let match = router.find(request)
    let error: ProtocolError =
      switch reason {
      case .bodyTooLong: .bodyTooLarge(match.bodyLimits)
      case .tooManyLongBodies: .unavailable
      case .malformed(let problem): .malformed(problem)
      }
    return finish(
      HTTPServerResponse(error, form: match.errorForm(of: request), request), request, match, MessageID.make(),
      since: clock.now())
  }

  private func answer(
    _ request: HTTPServerRequest, _ match: CallRouter.Match, _ requestID: String, _ start: MonotonicTime
  ) async throws(ProtocolError) -> CallOutcome {
    let call = try reader.call(request, match, requestID: requestID, deadline: start + answerTime)
    guard case .found(let route, _) = match else { throw .notFound }
    return try await Self.within(answerTime) { () async throws(ProtocolError) -> CallOutcome in
      try await route.implementation(call)
    }
  }

  /// Ends a call that takes too long: the client is told so before it gives up.
  private static func within(
    _ time: Duration, _ work: @escaping @Sendable () async throws(ProtocolError) -> CallOutcome
  ) async throws(ProtocolError) -> CallOutcome {
    let result = await withTaskGroup(of: Result<CallOutcome, ProtocolError>?.self) { group in
      group.addTask {
        do throws(ProtocolError) { return .success(try await work()) } catch { return .failure(error) }
      }
      group.addTask {
        let isOver: Void? = try? await Task.sleep(for: time)
        return isOver.map { .failure(.unavailable) }
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      return first
    }
    return try (result ?? .failure(.unavailable)).get()
  }

  // MARK: Responses

  private func finish(
    _ response: HTTPServerResponse, _ request: HTTPServerRequest, _ match: CallRouter.Match, _ requestID: String,
    since start: MonotonicTime
  ) -> HTTPServerResponse {
    var response = response
    // Other pages do not read a page.
    guard match.route?.access != .page else {
      return note(response, match.route?.name ?? Name.unknown, requestID, since: start)
    }
    CrossOrigin.add(to: &response, request, keepsUsers: match.route?.keepsUsers ?? false)
    return note(response, match.route?.name ?? Name.unknown, requestID, since: start)
  }

  // MARK: Records

  private func note(
    _ response: HTTPServerResponse, _ name: String, _ requestID: String, since start: MonotonicTime
  ) -> HTTPServerResponse {
    let time = clock.now() - start
    metrics.countRequest(name, status: response.status, time)
    let facts: LogMetadata = ["call": name, "status": response.status, .duration: time, "request.id": requestID]
    if time >= Self.slow, let withheld = gate.admits(at: clock.now()) {
      logger.warning("a request took long", facts.appending(["withheld": withheld]))
    } else {
      logger.debug("request", facts)
    }
    return response
  }
}

extension CallRouter.Match {
  fileprivate var route: Route? {
    if case .found(let route, _) = self { route } else { nil }
  }

  fileprivate func errorForm(of request: HTTPServerRequest) -> ErrorForm {
    switch self {
    case .found(let route, _): route.errorForm
    case .wrongMethod(_, let form): form
    case .unknown: VerificationCalls.isPath(request.rawPath) ? .problem : .identityToolkit
    }
  }

  fileprivate var bodyLimits: BodyLimits { route?.bodyLimits ?? .usual }
}
