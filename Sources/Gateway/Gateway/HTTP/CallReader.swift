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
    let bearer = try Bearer(request, route, isDevelopment: rules.isDevelopment).token
    let key = try query.text("key") ?? request.headers["X-Goog-Api-Key"].flatMap { $0.isEmpty ? nil : $0 }
    // The body of an administrator's call may name the project.
    let named = route.access == .administrator ? try body(of: request, route) : nil
    let project: Project? =
      if let named { try administered(variables, named, query, key) } else {
        try project(route, variables, key, query)
      }
    let caller = try caller(request, route, project)
    let body: CallBody = if let named { named } else { try self.body(of: request, route) }
    if route.access != .administrator { try checkTarget(body) }
    return Call(
      request: request, name: route.name, variables: variables, projectOrNil: project, app: caller?.app,
      client: client(request, caller), apiKey: key, bearer: bearer, query: query, body: body, requestID: requestID,
      deadline: deadline)
  }

  private func admitted(
    _ match: CallRouter.Match, _ request: HTTPServerRequest
  ) throws(ProtocolError) -> (Route, [String: String]) {
    switch match {
    case .unknown: throw .notFound
    case .wrongMethod(let methods, _): throw .wrongMethod(methods)
    case .found(let route, let variables):
      switch route.access {
      case .notOffered(let error): throw error
      case .development:
        // Outside development mode these addresses do not exist.
        guard rules.isDevelopment else { throw .notFound }
        guard LocalRequest.isLocal(request) else { throw .notLocal }
      case .apiKey, .administrator, .page, .open: break
      }
      return (route, variables)
    }
  }

  private func project(
    _ route: Route, _ variables: [String: String], _ key: String?, _ query: CallBody
  ) throws(ProtocolError) -> Project? {
    let projects = rules.projects.current
    switch route.access {
    case .open, .notOffered, .administrator: return nil
    case .page:
      guard let key = try query.text("apiKey") else { return nil }
      return projects.project(ofKey: key)
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

  /// Project of an administrator's call: of the path, else the one that body or query name, else of the API key, else
  /// the only one there is.
  private func administered(
    _ variables: [String: String], _ body: CallBody, _ query: CallBody, _ key: String?
  ) throws(ProtocolError) -> Project {
    let projects = rules.projects.current
    let target = try (body.has("targetProjectId") ? body : query).text("targetProjectId")
    if let path = variables["project"], let target, target != path {
      throw .badField("targetProjectId", expected: "the project of the path")
    }
    let project: Project? =
      if let name = variables["project"] ?? target {
        projects[name]
      } else if let key {
        projects.project(ofKey: key)
      } else {
        projects.all.count == 1 ? projects.all.values.first : nil
      }
    guard let project else { throw .projectUnknown }
    return project
  }

  /// Administrators' calls come from no app, and any page may be left for one of ours.
  private func caller(
    _ request: HTTPServerRequest, _ route: Route, _ project: Project?
  ) throws(ProtocolError) -> CallerApp? {
    guard let project else { return nil }
    switch route.access {
    case .administrator: return nil
    case .page: return CallerApp(of: project)
    case .apiKey, .development, .open, .notOffered:
      return try CallerApp(request, project, isDevelopment: rules.isDevelopment)
    }
  }

  private func body(of request: HTTPServerRequest, _ route: Route) throws(ProtocolError) -> CallBody {
    guard request.method == "POST" || request.method == "PATCH" else { return .empty }
    if route.takesForm, request.isForm { return try CallBody(form: request.body) }
    return try CallBody(json: request.body, route.bodyLimits, asSpelled: route.errorForm == .problem)
  }

  /// Only administrators may name the project.
  private func checkTarget(_ body: CallBody) throws(ProtocolError) {
    if body.has("targetProjectId") { throw .insufficientPermission }
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

  /// Whether a header says so, whatever its bearer is.
  var hasBearer: Bool { headers.all("Authorization").contains { $0.lowercased().hasPrefix("bearer") } }

  fileprivate var queryText: Substring { target.drop { $0 != "?" }.dropFirst() }

  fileprivate var isForm: Bool {
    let type = headers["Content-Type"]?.prefix { $0 != ";" && $0 != " " }
    return type?.lowercased() == "application/x-www-form-urlencoded"
  }
}
