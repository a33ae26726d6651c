import CountersignMessages
import CountersignTelemetry
import Projects

/// Fields of an OpenID Connect provider as an administrator writes them, checked.
struct OpenIDChange: Sendable {
  private let fields: OpenIDFields
  private let clients: [OpenIDConfiguration.Client]?

  /// - Throws: `INVALID_ARGUMENT` that names the field.
  init(_ fields: OpenIDFields) throws(APIError) {
    if let name = fields.displayName, !name.isEmpty, !OpenIDForms.isDisplayName(name) {
      throw .wrongProvider("displayName", "displayName has 1 to 64 characters without control characters")
    }
    if let issuer = fields.issuer, !OpenIDForms.isIssuer(issuer) {
      throw .wrongProvider("issuer", "issuer is \(OpenIDForms.issuerForm)")
    }
    if let scopes = fields.scopes,
      scopes.count > OpenIDForms.maxScopes || !scopes.allSatisfy(OpenIDForms.isScope)
    {
      throw .wrongProvider("scopes", "there are up to \(OpenIDForms.maxScopes) scopes of visible ASCII")
    }
    try Self.check(fields.parameters ?? [:])
    self.fields = fields
    clients = try fields.clients.map(Self.clients)
  }

  private static func check(_ parameters: [String: String]) throws(APIError) {
    if let reserved = parameters.keys.sorted().first(where: OpenIDForms.isReserved) {
      throw .wrongProvider("parameters", "the parameter \(reserved) belongs to the flow and cannot be set")
    }
    guard parameters.count <= OpenIDForms.maxParameters,
      parameters.allSatisfy({ OpenIDForms.isParameterName($0.key) && OpenIDForms.isParameterValue($0.value) })
    else {
      throw .wrongProvider(
        "parameters", "there are up to \(OpenIDForms.maxParameters) parameters with values up to 500 characters")
    }
  }

  private static func clients(_ all: [OpenIDClient]) throws(APIError) -> [OpenIDConfiguration.Client] {
    guard (1...OpenIDForms.maxClients).contains(all.count), Set(all.map(\.clientID)).count == all.count,
      all.allSatisfy({ ProjectForms.isClientID($0.clientID) })
    else {
      throw .wrongProvider(
        "clients", "there are 1 to \(OpenIDForms.maxClients) clients, each with an ID of visible ASCII of its own")
    }
    var clients: [OpenIDConfiguration.Client] = []
    for client in all {
      let platform = client.platform.flatMap(ProjectApp.Platform.init)
      guard platform != nil || client.platform == nil else {
        throw .wrongProvider("clients", "the platform of a client is ios, web or android")
      }
      guard client.secret.map(OpenIDForms.isSecret) ?? true else {
        throw .wrongProvider("clients", "the secret of a client has 1 to 1,024 characters of ASCII")
      }
      clients.append(
        OpenIDConfiguration.Client(id: client.clientID, platform: platform, secret: client.secret.map(Secret.init)))
    }
    return clients
  }

  /// A new provider. It is off unless the fields switch it on.
  ///
  /// - Throws: `INVALID_ARGUMENT` without issuer or clients.
  func made(_ id: String) throws(APIError) -> OpenIDConfiguration {
    guard let issuer = fields.issuer else { throw .wrongProvider("issuer", "issuer is needed") }
    guard let clients else { throw .wrongProvider("clients", "a client is needed") }
    return applied(to: OpenIDConfiguration(id: id, isEnabled: false, issuer: issuer, clients: clients))
  }

  /// The provider with the changes. A secret goes with the issuer that it was given for: a change of the issuer would
  /// otherwise show it to another one.
  func applied(to former: OpenIDConfiguration) -> OpenIDConfiguration {
    var provider = former
    if let name = fields.displayName { provider.displayName = name.isEmpty ? nil : name }
    provider.isEnabled = fields.enabled ?? former.isEnabled
    provider.issuer = fields.issuer ?? former.issuer
    provider.usesCodeFlow = fields.usesCodeFlow ?? former.usesCodeFlow
    provider.scopes = fields.scopes ?? former.scopes
    provider.parameters = fields.parameters ?? former.parameters
    let keepsSecrets = provider.issuer == former.issuer
    provider.clients = (clients ?? former.clients).map { client in
      var client = client
      if clients == nil || client.secret == nil {
        client.secret = keepsSecrets ? former.clients.first { $0.id == client.id }?.secret : nil
      }
      return client
    }
    return provider
  }
}

extension OpenIDConfiguration {
  func view(isFromFile: Bool) -> ProviderView {
    var view = ProviderView(
      providerID: id, issuer: issuer,
      clients: clients.map { client in
        var view = ProviderView.Client(clientID: client.id, hasSecret: client.secret != nil)
        view.platform = client.platform?.rawValue
        return view
      }, enabled: isEnabled, usesCodeFlow: usesCodeFlow, isFromFile: isFromFile)
    view.displayName = displayName
    view.scopes = scopes.isEmpty ? nil : scopes
    view.parameters = parameters.isEmpty ? nil : parameters
    return view
  }
}
