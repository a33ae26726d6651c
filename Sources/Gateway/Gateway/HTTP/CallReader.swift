import CountersignTelemetry
import HTTPServer
import Projects
import ServiceRuntime

/// Makes a call of a request, by the checks that all calls have in common, in this order: path (404, 501), method
/// (405), development mode, bearer (401), API key (403, 400), app (403), body (400).
struct CallReader: Sendable {
  let rules: GatewayRules
  let proxies: TrustedProxies

  func call(
    _ request: HTTPServerRequest, _ match: CallRouter.Match, requestID: String, deadline: MonotonicTime
  ) throws(ProtocolError) -> Call {
    let (route, variables) = try admitted(match, request)
    let query = try CallBody(encoded: Array(request.queryText.utf8), maxFields: CallLimits.maxQueryParameters)
    try checkBearer(request)
    let key = try query.text("key") ?? request.headers["X-Goog-Api-Key"].flatMap { $0.isEmpty ? nil : $0 }
    let project = try project(route, variables, key)
    let caller = try project.map { (project) throws(ProtocolError) in
      try CallerApp(request, project, isDevelopment: rules.isDevelopment)
    }
    let body = try body(of: request, route)
    try checkTarget(body, request)
    return Call(
      request: request, name: route.name, variables: variables, projectOrNil: project, app: caller?.app,
      client: client(request, caller), apiKey: key, query: query, body: body, requestID: requestID,
      deadline: deadline)
  }

  private func admitted(
    _ match: CallRouter.Match, _ request: HTTPServerRequest
  ) throws(ProtocolError) -> (Route, [String: String]) {
    switch match {
    case .unknown: throw .notFound
    case .wrongMethod(let methods): throw .wrongMethod(methods)
    case .found(let route, let variables):
      switch route.access {
      case .notOffered(let error): throw error
      case .development:
        // Outside development mode these addresses do not exist.
        guard rules.isDevelopment else { throw .notFound }
        guard LocalRequest.isLocal(request) else { throw .notLocal }
      case .apiKey, .open: break
      }
      return (route, variables)
    }
  }

  /// Administrators' bearers are not offered yet. `Bearer owner` of development mode, in any case, is let through from
  /// this machine.
  private func checkBearer(_ request: HTTPServerRequest) throws(ProtocolError) {
    let bearers = request.headers.all("Authorization").map { $0.lowercased() }.filter { $0.hasPrefix("bearer") }
    guard !bearers.isEmpty else { return }
    guard rules.isDevelopment, bearers == ["bearer owner"], LocalRequest.isLocal(request) else {
      throw .unauthenticated
    }
  }

  private func project(
    _ route: Route, _ variables: [String: String], _ key: String?
  ) throws(ProtocolError) -> Project? {
    let projects = rules.projects.current
    switch route.access {
    case .open, .notOffered: return nil
    case .development:
      guard let name = variables["project"] else { return nil }
      guard let project = projects[name] else { throw .notFound }
      return project
    case .apiKey:
      guard let key else { throw .keyMissing }
      guard let project = projects.project(ofKey: key) else { throw .keyInvalid }
      return project
    }
  }

  private func body(of request: HTTPServerRequest, _ route: Route) throws(ProtocolError) -> CallBody {
    guard request.method == "POST" || request.method == "PATCH" else { return .empty }
    if route.takesForm, request.isForm { return try CallBody(form: request.body) }
    return try CallBody(json: request.body)
  }

  /// Only administrators may name the project, and they are not offered yet.
  private func checkTarget(_ body: CallBody, _ request: HTTPServerRequest) throws(ProtocolError) {
    guard body.has("targetProjectId") else { return }
    throw request.hasAuthorization ? .administrationNotOffered : .insufficientPermission
  }

  private func client(_ request: HTTPServerRequest, _ caller: CallerApp?) -> CallClient {
    CallClient(
      address: proxies.client(peer: request.remoteAddress, forwarded: request.headers.all("X-Forwarded-For")),
      userAgent: request.headers["User-Agent"].flatMap {
        $0.isEmpty ? nil : $0.cut(toBytes: CallLimits.maxUserAgentBytes)
      },
      locale: Self.locale(request.headers["X-Firebase-Locale"]), origin: caller?.origin, appName: caller?.name)
  }

  /// A language tag by its form (BCP 47), with hyphens. Anything else counts as absent.
  private static func locale(_ text: String?) -> String? {
    guard let tag = text?.replacing("_", with: "-"),
      tag.isMatched(by: { $0.isLetterOrDigit || $0 == "-" }, length: 2...35)
    else { return nil }
    return tag
  }
}

extension HTTPServerRequest {
  /// Percent-encoded as sent.
  var rawPath: Substring { target.prefix { $0 != "?" } }

  var hasAuthorization: Bool { headers["Authorization"] != nil }

  fileprivate var queryText: Substring { target.drop { $0 != "?" }.dropFirst() }

  fileprivate var isForm: Bool {
    let type = headers["Content-Type"]?.prefix { $0 != ";" && $0 != " " }
    return type?.lowercased() == "application/x-www-form-urlencoded"
  }
}
