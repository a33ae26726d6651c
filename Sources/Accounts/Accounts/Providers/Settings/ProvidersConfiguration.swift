import HTTPClient
import Projects
import ServiceRuntime

/// Identity providers as the configuration of accounts describes them.
struct ProvidersConfiguration: Sendable {
  private let settings: [any ProviderSettings]
  let secrets: ProviderSecrets
  let allowed: AllowedAddresses
  /// Check values of the files.
  let checkValues: [CheckValue]

  /// - Parameter section: that of the whole configuration.
  init(_ section: ConfigurationSection, kinds: [any ProviderSettings.Type] = kinds) {
    let providers = section.section("providers")
    var settings: [any ProviderSettings] = []
    let inner = Self.authorities(providers)
    var allowed = AllowedAddresses(
      authorities: inner,
      networks: providers.networks(
        "allowedNetworks", "Networks beside the internet that names of providers may lead to: 10.1.0.0/16."),
      ownTrust: Self.trust(providers, at: inner))
    for kind in kinds {
      let own = ProviderSection(providers.section(kind.section))
      settings.append(kind.init(own))
      allowed.authorities.formUnion(own.authorities)
    }
    self.settings = settings
    self.allowed = allowed
    secrets = ProviderSecrets(section)
    checkValues = [secrets.checkValue, allowed.ownTrust.flatMap { _ in providers.contentCheck("caFile") }].compactMap(
      \.self)
  }

  /// Parts that are to be alike in all processes of accounts: all but the names of files.
  var comparable: [Any] { [settings, allowed.authorities, allowed.networks, checkValues.map(\.value)] }

  func make(_ context: (ProviderNetwork, ProviderSecrets) -> ProviderContext) throws(TransportError)
    -> IdentityProviders
  {
    let context = context(try ProviderNetwork(allowed), secrets)
    return IdentityProviders(settings.map { $0.make(context) }, OpenIDIssuers(context))
  }

  /// Warns of methods that are on and cannot work.
  func check(_ projects: Projects, _ section: ConfigurationSection) {
    let ids = Set(settings.map { type(of: $0).id })
    for project in projects.all.values.sorted(by: { $0.id < $1.id }) {
      for method in project.methods.map(\.rawValue).sorted() where ProjectForms.isProviderID(method) {
        if !ids.contains(method), project.providers[method]?.openID == nil {
          section.warning(
            ProjectsDirectory.key, "\(project.id): methods has \(method) on, which accounts has no provider of")
        }
      }
      if project.methods.contains(.provider(FacebookSettings.id)),
        secrets[project.id, FacebookSettings.id] == nil
      {
        section.warning(
          ProviderSecrets.key,
          "has no secret of \(FacebookSettings.id) for project \(project.id): its access tokens are refused")
      }
    }
  }

  private static func authorities(_ section: ConfigurationSection) -> Set<String> {
    let urls = section.strings(
      "allowedAddresses",
      "Addresses of OpenID Connect providers on inner networks, or with http:// on this machine: https://id.example.lan."
    )
    let parts = urls.enumerated().compactMap { index, url -> URLParts? in
      guard let parts = URLParts(url), !parts.isUnprotected else {
        section.problem("allowedAddresses.\(index)", "must be https://, or http:// on this machine, without a query")
        return nil
      }
      return parts
    }
    return Set(parts.map(\.authority))
  }

  private static func trust(
    _ section: ConfigurationSection, at authorities: Set<String>
  ) -> AllowedAddresses.OwnTrust? {
    let file = section.path(
      "caFile", "Certificates to trust at 'allowedAddresses', PEM; those of the system if absent.")
    section.check("caFile", file == nil || !authorities.isEmpty, "has no effect without 'allowedAddresses'")
    return file.map { AllowedAddresses.OwnTrust(caFile: $0, authorities: authorities) }
  }
}
