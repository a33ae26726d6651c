import CommandEngine
import CountersignCryptography
import CountersignTelemetry
import Projects

/// OpenID Connect providers of projects: those that administrators have set go before those of the projects' files.
struct OpenIDConfigurations: Sendable {
  let ring: KeyRing
  let secrets: ProviderSecrets
  let logger: Logger

  static func isID(_ text: String) -> Bool { OpenIDForms.isID(text) }

  static func addKeys(of project: String, _ provider: String, to keys: inout StoreKeys) {
    if let id = OpenIDRecord.id(provider, of: project) { keys.add(record: id) }
  }

  /// `nil` for one that there is not, and for one whose record no key opens.
  func find(_ provider: String, of project: Project, in set: WorkingSet) throws(StoreError) -> OpenIDConfiguration? {
    try own(provider, of: project, in: set).map { withSecrets($0, of: project) }
  }

  /// Without the secrets of the file of secrets.
  func own(_ provider: String, of project: Project, in set: WorkingSet) throws(StoreError) -> OpenIDConfiguration? {
    guard let id = OpenIDRecord.id(provider, of: project.id), let record = try set.record(id) else {
      return inFile(provider, of: project)
    }
    return open(record, of: project)
  }

  func open(_ record: Record, of project: Project) -> OpenIDConfiguration? {
    let configuration = OpenIDRecord.open(record, with: ring)
    if configuration == nil {
      logger.error(
        "an OpenID Connect provider cannot be read, so it is off",
        [
          "project": project.id,
          .hint: "add the key that it is sealed under to tokenKeysFile, or remove the provider and add it again",
        ])
    }
    return configuration
  }

  /// The provider as the project's file has it.
  func inFile(_ provider: String, of project: Project) -> OpenIDConfiguration? {
    guard let facts = project.providers[provider], let openID = facts.openID else { return nil }
    var configuration = OpenIDConfiguration(
      id: provider, displayName: openID.displayName,
      isEnabled: project.methods.contains(.provider(provider)), issuer: openID.issuer,
      clients: facts.clientIDs.map { OpenIDConfiguration.Client(id: $0, platform: openID.platforms[$0]) })
    configuration.usesCodeFlow = openID.usesCodeFlow
    configuration.scopes = openID.scopes
    configuration.parameters = openID.parameters
    configuration.trustsEmail = openID.trustsEmail
    return configuration
  }

  /// A client without a secret of its own has that of the file of secrets where the project's file has the provider with
  /// this issuer: an administrator who names another one is not to see it there. See ``OpenIDChange``.
  func withSecrets(_ configuration: OpenIDConfiguration, of project: Project) -> OpenIDConfiguration {
    var configuration = configuration
    guard project.providers[configuration.id]?.openID?.issuer == configuration.issuer else { return configuration }
    for index in configuration.clients.indices where configuration.clients[index].secret == nil {
      let client = configuration.clients[index].id
      configuration.clients[index].secret = secrets[project.id, configuration.id, client]
    }
    return configuration
  }
}
