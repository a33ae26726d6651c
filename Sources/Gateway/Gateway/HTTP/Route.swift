struct Route: Sendable {
  typealias Implementation = @Sendable (Call) async throws(ProtocolError) -> CallAnswer
  typealias Outcome = @Sendable (Call) async throws(ProtocolError) -> CallOutcome

  enum Access: Sendable, Hashable {
    case apiKey
    /// A bearer, which `accounts` judges. The project is that of the path, else the one that the body names.
    case administrator
    /// A browser that a person has sent here. The project is that of the query's `apiKey`, if there is one.
    case page
    /// Anyone may call.
    case open
    /// Only in development mode, and only a client on this machine.
    case development
    /// No one: the protocol has the call, and we do not offer it. The error says so.
    case notOffered(ProtocolError)
  }

  enum Method: String, Sendable, Hashable {
    case get = "GET"
    case post = "POST"
    case delete = "DELETE"
    case patch = "PATCH"
  }

  /// Name for logs and metrics: `signUp`.
  let name: String
  /// `nil` for any method.
  let method: Method?
  /// Paths. A segment `{name}` is a variable, a last segment `*` anything that follows.
  let paths: [String]
  let access: Access
  let waitsFor: CallClass
  let takesForm: Bool
  /// Whether failures of ours are kept from pages. The JavaScript SDK makes the call by itself while a page loads
  /// (`reloadAndSetCurrentUserOrClear`): any error that it can read signs the user out for good, and what looks
  /// like a missing network does not.
  let keepsUsers: Bool
  var bodyLimits = BodyLimits.usual
  var errorForm = ErrorForm.identityToolkit
  let implementation: Outcome

  init(
    _ name: String, _ method: Method?, _ paths: [String], access: Access, waitsFor: CallClass, takesForm: Bool = false,
    keepsUsers: Bool = false, _ implementation: @escaping Implementation
  ) {
    self.init(
      name, method, paths, access: access, waitsFor: waitsFor, takesForm: takesForm, keepsUsers: keepsUsers,
      outcome: { (call: Call) async throws(ProtocolError) -> CallOutcome in .json(try await implementation(call)) })
  }

  private init(
    _ name: String, _ method: Method?, _ paths: [String], access: Access, waitsFor: CallClass, takesForm: Bool,
    keepsUsers: Bool, outcome: @escaping Outcome
  ) {
    self.name = name
    self.method = method
    self.paths = paths
    self.access = access
    self.waitsFor = waitsFor
    self.takesForm = takesForm
    self.keepsUsers = keepsUsers
    implementation = outcome
  }
}

enum HostPrefix {
  static let identity = "/identitytoolkit.googleapis.com"
  static let relyingParty = "/www.googleapis.com/identitytoolkit/v3/relyingparty"
  static let secureToken = "/securetoken.googleapis.com"
  static let keys = "/www.googleapis.com"
  static let oauth = "/oauth2.googleapis.com"
}

extension Route {
  static func v1(
    _ name: String, _ method: Method, _ path: String, old: String, waitsFor: CallClass, keepsUsers: Bool = false,
    _ implementation: @escaping Implementation
  ) -> Route {
    Route(
      name, method, ["\(HostPrefix.identity)/v1/\(path)", "\(HostPrefix.relyingParty)/\(old)"], access: .apiKey,
      waitsFor: waitsFor, keepsUsers: keepsUsers, withoutTenants(implementation))
  }

  static func v2(
    _ name: String, _ method: Method, _ path: String, waitsFor: CallClass, _ implementation: @escaping Implementation
  ) -> Route {
    Route(
      name, method, ["\(HostPrefix.identity)/v2/\(path)"], access: .apiKey, waitsFor: waitsFor,
      withoutTenants(implementation))
  }

  /// Page for browsers, which also takes the forms that it shows.
  static func page(
    _ name: String, _ method: Method, _ paths: [String], waitsFor: CallClass, _ outcome: @escaping Outcome
  ) -> Route {
    var route = Route(
      name, method, paths, access: .page, waitsFor: waitsFor, takesForm: true, keepsUsers: false, outcome: outcome)
    route.errorForm = .page
    return route
  }

  /// Call of administrators: below `projects/{project}`, and under the same name without it.
  /// - Parameters:
  ///   - path: what follows the project, with the character before it: `/accounts:lookup`, `:createSessionCookie`.
  ///   - old: name in v3.
  static func administrators(
    _ name: String, _ method: Method, _ path: String, old: String?, waitsFor: CallClass = .administrators,
    _ implementation: @escaping Implementation
  ) -> Route {
    let short = path.hasPrefix("/") ? path : "/\(path)"
    let paths = ["/projects/{project}\(path)", short].map { "\(HostPrefix.identity)/v1\($0)" }
    return Route(
      name, method, paths + (old.map { ["\(HostPrefix.relyingParty)/\($0)"] } ?? []), access: .administrator,
      waitsFor: waitsFor, withoutTenants(implementation))
  }

  /// Tenants are not offered: a call that names one is refused first.
  static func withoutTenants(_ implementation: @escaping Implementation) -> Implementation {
    { (call: Call) async throws(ProtocolError) -> CallAnswer in
      try call.body.checkTenant()
      return try await implementation(call)
    }
  }

  static func token(_ implementation: @escaping Implementation) -> Route {
    Route(
      "token", .post, ["\(HostPrefix.secureToken)/v1/token"], access: .apiKey, waitsFor: .accounts, takesForm: true,
      keepsUsers: true, implementation)
  }

  /// Open address: public keys, as they were fetched last.
  static func open(
    _ name: String, _ paths: [String], waitsFor: CallClass = .gateway, _ implementation: @escaping Implementation
  ) -> Route {
    Route(name, .get, paths, access: .open, waitsFor: waitsFor, implementation)
  }

  /// Call of development mode. Its class is that of what it may wait for longest.
  static func development(
    _ name: String, _ method: Method, _ path: String, _ implementation: @escaping Implementation
  ) -> Route {
    Route(
      name, method, ["/emulator/v1/projects/{project}/\(path)"], access: .development, waitsFor: .coordinator,
      implementation)
  }

  static func notOffered(_ name: String, _ paths: [String], _ error: ProtocolError = .notOffered) -> Route {
    Route(name, nil, paths, access: .notOffered(error), waitsFor: .gateway) {
      (_: Call) async throws(ProtocolError) -> CallAnswer in throw error
    }
  }
}
