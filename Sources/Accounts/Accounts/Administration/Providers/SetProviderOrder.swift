import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.setProvider`: makes, changes or removes an OpenID Connect provider.
struct SetProviderOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let project: Project
  private let check: AdministratorCheck
  private let providerID: String
  private let act: SetProvider.Act
  private let change: OpenIDChange
  private let openID: OpenIDConfigurations
  private let eventID = MessageID.make()
  private let seals = Once<[UInt8], String>()

  /// State before the command.
  private struct Standing {
    /// `nil` as well for a record that no key opens.
    let provider: OpenIDConfiguration?
    let hasRecord: Bool
    let records: Int
  }

  init(_ command: SetProvider, _ envelope: Envelope, _ parts: AccountParts) throws(APIError) {
    let reader = parts.reader
    project = try reader.project(command.project)
    check = try AdministratorCheck(
      bearer: command.bearer, project: project.id, role: .config, of: envelope, replyKey: nil, reader)
    guard OpenIDConfigurations.isID(command.providerID) else {
      throw .wrongProvider("providerID", "the ID of a provider is \(OpenIDForms.idForm)")
    }
    providerID = command.providerID
    act = command.act
    openID = parts.openID
    let text = try command.fields.map { field throws(APIError) in
      try reader.open(field, "fields", of: envelope, replyKey: nil)
    }
    change = try OpenIDChange(try text.map { text throws(APIError) in try reader.content(of: text) } ?? OpenIDFields())
    fingerprints = reader.hashes.fingerprints(
      "set provider", [project.id, providerID, act.rawValue, text?.reveal() ?? ""])
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    check.addKeys(to: &keys)
    OpenIDConfigurations.addKeys(of: project.id, providerID, to: &keys)
    keys.add(group: try OpenIDRecord.group(project.id))
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let administrator: Administrator
    switch try check.administrator(in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): administrator = found
    }
    guard let id = OpenIDRecord.id(providerID, of: project.id) else { throw StoreError.unreadableBody }
    let standing = Standing(
      provider: try openID.own(providerID, of: project, in: set), hasRecord: try set.record(id) != nil,
      records: try set.group(OpenIDRecord.group(project.id)).records.count)
    let provider: OpenIDConfiguration?
    do throws(APIError) { provider = try changed(standing) } catch { return CommandAnswer(error) }
    if let provider {
      try OpenIDRecord.store(provider, of: project.id, sealedUnder: openID.ring, seals, in: &set)
    } else {
      try set.remove(id)
    }
    var acted = AdministratorActed(
      project: project.id, by: administrator.name, act: "setProvider.\(act.rawValue)", actedAt: set.now)
    acted.subject = ([providerID] + [provider?.issuer].compactMap(\.self)).joined(separator: " ")
    try ActRecord.note(acted, id: eventID, cause: envelope, in: &set)
    let views = provider.map { [openID.withSecrets($0, of: project).view(isFromFile: false)] }
    return try CommandAnswer(ProvidersFound(providers: views ?? []))
  }

  /// `nil` for one whose record goes.
  private func changed(_ standing: Standing) throws(APIError) -> OpenIDConfiguration? {
    guard act != .remove || standing.hasRecord else {
      throw standing.provider == nil ? .configurationNotFound : .providerInFile
    }
    if !standing.hasRecord, act != .remove, standing.records >= OpenIDForms.maxProviders { throw .tooManyProviders }
    switch act {
    case .create:
      guard standing.provider == nil, !standing.hasRecord else { throw .configurationExists }
      return try change.made(providerID)
    case .change:
      guard let provider = standing.provider else { throw .configurationNotFound }
      return change.applied(to: provider)
    case .remove: return nil
    }
  }
}

extension APIError {
  static let configurationNotFound = APIError(
    .configurationNotFound, "the project has no such provider: 'countersign provider list' shows all",
    field: "providerID")
  static let configurationExists = APIError(
    .configurationExists, "the project has the provider already: change it", field: "providerID")
  static let providerInFile = APIError(
    .operationNotAllowed, "the provider stands in the project's file: take it out there", field: "providerID",
    reason: "PROVIDER_IN_FILE")
  static let tooManyProviders = APIError(
    .operationNotAllowed, "the project has \(OpenIDForms.maxProviders) providers that were set: remove one first",
    field: "providerID", reason: "TOO_MANY_PROVIDERS")

  /// - Parameter fault: what is wrong with the field, without its value.
  static func wrongProvider(_ field: String, _ fault: String) -> APIError {
    APIError(.invalidArgument, fault, field: field)
  }
}
