import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// Provider that a command names: one of the process, or one of the project's, which the store may have.
enum NamedProvider: Sendable {
  case own(any IdentityProvider)
  case openID(String)

  /// `nil` for an ID that names none.
  init?(_ id: String, _ parts: AccountParts) {
    if let own = parts.providers[id] {
      self = .own(own)
    } else if OpenIDConfigurations.isID(id) {
      self = .openID(id)
    } else {
      return nil
    }
  }

  /// Checks that the project has a provider of the process on. One of its own says so itself.
  func check(_ project: Project) throws(APIError) {
    guard case .own(let provider) = self else { return }
    let method = Project.Method.provider(provider.id)
    guard project.methods.contains(method) else { throw .methodOff(method) }
  }

  func addKeys(of project: Project, to keys: inout StoreKeys) {
    if case .openID(let id) = self { OpenIDConfigurations.addKeys(of: project.id, id, to: &keys) }
  }

  /// - Throws: ``StoreError`` of the look-up.
  func find(
    of project: Project, _ parts: AccountParts, in set: WorkingSet
  ) throws(StoreError) -> Result<any IdentityProvider, APIError> {
    switch self {
    case .own(let provider): return .success(provider)
    case .openID(let id):
      guard let configuration = try parts.openID.find(id, of: project, in: set), configuration.isEnabled,
        let provider = parts.providers.provider(configuration)
      else { return .failure(.openIDNotFound) }
      return .success(provider)
    }
  }
}
