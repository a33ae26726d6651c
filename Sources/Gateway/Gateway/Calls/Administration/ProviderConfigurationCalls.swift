import CountersignMessages
import CountersignTelemetry
import Projects

/// OpenID Connect providers of a project, for administrators: `oauthIdpConfigs`. Secrets are taken, and never answered.
struct ProviderConfigurationCalls: Sendable {
  let backend: Backend

  private static let maxPage = 100
  /// Names for `updateMask`.
  private static let known: Set<String> = [
    "displayName", "enabled", "clientId", "issuer", "clientSecret", "responseType", "responseType.code",
    "responseType.idToken",
  ]

  var routes: [Route] {
    let path = "\(HostPrefix.identity)/v2/projects/{project}/oauthIdpConfigs"
    let one = "\(path)/{provider}"
    func route(
      _ name: String, _ method: Route.Method, _ path: String, _ call: @escaping Route.Implementation
    ) -> Route {
      Route(name, method, [path], access: .administrator, waitsFor: .administrators, call)
    }
    return [
      route("createOAuthIdpConfig", .post, path, create), route("listOAuthIdpConfigs", .get, path, list),
      route("oauthIdpConfig", .get, one, show), route("updateOAuthIdpConfig", .patch, one, change),
      route("deleteOAuthIdpConfig", .delete, one, remove),
    ]
  }

  // MARK: Looks

  private func list(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let size = try call.query.integer("pageSize") ?? 0
    guard size >= 0 else { throw .badField("pageSize", expected: "0 or more") }
    let behind = try call.query.text("pageToken")
    guard behind.map(OpenIDForms.isID) ?? true else {
      throw .badField("pageToken", expected: "the nextPageToken of an answer")
    }
    var command = FindProviders(project: try call.project().id)
    command.limit = size == 0 ? Self.maxPage : min(size, Self.maxPage)
    command.behind = behind
    let found = try await ask(command, call)
    var answer = CallAnswer()
    answer.put("oauthIdpConfigs", objects: found.providers.map { $0.answer(of: command.project) })
    if found.hasMore == true { answer.put("nextPageToken", found.providers.last?.providerID) }
    return answer
  }

  private func show(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    try await standing(call).answer(of: try call.project().id)
  }

  private func standing(_ call: Call) async throws(ProtocolError) -> ProviderView {
    var command = FindProviders(project: try call.project().id)
    command.providerID = try Self.providerID(call)
    guard let view = try await ask(command, call).providers.first else { throw .internalError }
    return view
  }

  private func ask(_ command: FindProviders, _ call: Call) async throws(ProtocolError) -> ProvidersFound {
    let exchange = backend.exchange(FindProviders.self)
    var command = command
    command.bearer = try exchange.seal(ifAny: call.bearer)
    return try await exchange.ask(command)
  }

  private static func providerID(_ call: Call) throws(ProtocolError) -> String {
    guard let id = call.variables["provider"], OpenIDForms.isID(id) else { throw .configurationNotFound }
    return id
  }

  // MARK: Changes

  private func create(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    guard let id = try call.query.text("oauthIdpConfigId"), OpenIDForms.isID(id) else {
      throw .badField("oauthIdpConfigId", expected: OpenIDForms.idForm)
    }
    let body = call.body
    guard let clientID = try body.text("clientId") else { throw .account("MISSING_OAUTH_CLIENT_ID") }
    guard let issuer = try body.text("issuer") else { throw .account("MISSING_ISSUER") }
    var (fields, client) = (OpenIDFields(), OpenIDClient(clientID: clientID))
    client.secret = try body.text("clientSecret")
    fields.displayName = try body.text("displayName")
    fields.enabled = try body.bool("enabled")
    (fields.issuer, fields.clients) = (issuer, [client])
    fields.usesCodeFlow = try body.usesCodeFlow { _ in true } ?? false
    return try await set(id, .create, fields, call)
  }

  /// Changes the fields that `updateMask` names. Without it, those that the body has.
  private func change(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let id = try Self.providerID(call)
    let mask = try call.query.text("updateMask").map { Set($0.split(separator: ",").map(String.init)) }
    guard mask?.isSubset(of: Self.known) ?? true else { throw .notOffered(part: "Another field") }
    let body = call.body
    func isNamed(_ name: String) -> Bool {
      mask.map { $0.contains(name) || name.hasPrefix("responseType.") && $0.contains("responseType") } ?? true
    }
    var fields = OpenIDFields()
    if isNamed("displayName") { fields.displayName = try body.anyText("displayName") ?? (mask == nil ? nil : "") }
    if isNamed("enabled") { fields.enabled = try body.bool("enabled") }
    if isNamed("issuer") { fields.issuer = try body.text("issuer") }
    fields.usesCodeFlow = try body.usesCodeFlow(isNamed)
    let clientID = isNamed("clientId") ? try body.text("clientId") : nil
    let secret = isNamed("clientSecret") ? try body.text("clientSecret") : nil
    if clientID != nil || secret != nil {
      fields.clients = try await standing(call).clients(changing: clientID, secret: secret)
    }
    return try await set(id, .change, fields, call)
  }

  private func remove(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    try await set(try Self.providerID(call), .remove, nil, call)
  }

  private func set(
    _ id: String, _ act: SetProvider.Act, _ fields: OpenIDFields?, _ call: Call
  ) async throws(ProtocolError) -> CallAnswer {
    let exchange = backend.exchange(SetProvider.self)
    var command = SetProvider(project: try call.project().id, providerID: id, act: act)
    if let fields { command.fields = try exchange.seal(fields) }
    command.bearer = try exchange.seal(ifAny: call.bearer)
    return try await exchange.ask(command).providers.first?.answer(of: command.project) ?? CallAnswer()
  }
}

extension CallBody {
  /// Whether the response type is the code flow's. `nil` where neither of its members is named.
  fileprivate func usesCodeFlow(_ isNamed: (String) -> Bool) throws(ProtocolError) -> Bool? {
    let type = try object("responseType")
    if isNamed("responseType.code"), let code = try type?.bool("code") { return code }
    if isNamed("responseType.idToken"), let idToken = try type?.bool("idToken") { return !idToken }
    return nil
  }
}

extension ProviderView {
  fileprivate func answer(of project: String) -> CallAnswer {
    var (answer, type) = (CallAnswer(), CallAnswer())
    answer.put("name", "projects/\(project)/oauthIdpConfigs/\(providerID)")
    answer.put("clientId", clients.first?.clientID)
    answer.put("issuer", issuer)
    answer.put("displayName", displayName)
    answer.put("enabled", enabled)
    type.put(usesCodeFlow ? "code" : "idToken", true)
    answer.put("responseType", object: type)
    return answer
  }

  /// Clients of which the first, which the protocol knows alone, has another ID or secret.
  fileprivate func clients(changing clientID: String?, secret: String?) -> [OpenIDClient] {
    var all = clients.map { client in
      var one = OpenIDClient(clientID: client.clientID)
      one.platform = client.platform
      return one
    }
    guard !all.isEmpty else { return [] }
    all[0].clientID = clientID ?? all[0].clientID
    all[0].secret = secret
    // One that was the second is the first now.
    return [all[0]] + all.dropFirst().filter { $0.clientID != all[0].clientID }
  }
}
