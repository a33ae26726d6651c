import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.settings`: shows settings of a project, and changes those that it names.
struct SettingsOrder: CommandOrder {
  /// A million accounts take that long.
  private static let longestCensus = Duration.seconds(120)

  let fingerprint: [UInt8]
  private let former: [[UInt8]]
  private let project: Project
  private let check: AdministratorCheck
  private let changes: ProjectSettings.Changes
  private let eventID = MessageID.make()
  /// Accounts with an address that others have too, found in the stage.
  private var sharing: [String] = []

  init(_ command: ProjectSettingsCommand, _ envelope: Envelope, _ reader: CommandReader) throws(APIError) {
    project = try reader.project(command.project)
    check = try AdministratorCheck(
      bearer: command.bearer, project: project.id, role: .config, of: envelope, replyKey: nil, reader)
    changes = ProjectSettings.Changes(
      allowsDuplicateEmails: command.allowsDuplicateEmails, protectsAddresses: command.protectsAddresses)
    (fingerprint, former) = reader.hashes.fingerprints(
      "settings", [project.id] + [changes.allowsDuplicateEmails, changes.protectsAddresses].map { "\($0 as Any)" })
  }

  func formerFingerprints() -> [[UInt8]] { former }

  /// Ends duplicates: addresses become their accounts' alone. A command that died on the way goes on.
  var stage: CommandStage? {
    guard changes.allowsDuplicateEmails == false else { return nil }
    return CommandStage(longest: Self.longestCensus) { [self] access throws(StoreError) in
      var order = self
      let isNeeded = try await access.store.read(StoreKeys(), at: access.now()) {
        [check, project] set throws(StoreError) in
        guard case .success = try check.administrator(in: set) else { return false }
        let settings = try ProjectSettings.find(project, in: set)
        return settings.allowsDuplicateEmails || settings.isTakingAddresses
      }
      guard isNeeded else { return order }
      let census = AddressCensus(project: project.id)
      order.sharing = try await census.sharing(access)
      guard order.sharing.isEmpty else { return order }
      // Sign-ins take their addresses from now on, so the walk misses none.
      try await access.transact { [project] set throws(StoreError) in
        _ = try ProjectSettings.change(
          project, ProjectSettings.Changes(allowsDuplicateEmails: false, isTakingAddresses: true), in: &set)
      }
      try await census.takeAddresses(access)
      return order
    }
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    check.addKeys(to: &keys)
    ProjectSettings.addKeys(of: project.id, to: &keys)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let administrator: Administrator
    switch try check.administrator(in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): administrator = found
    }
    var settings = try ProjectSettings.find(project, in: set)
    if changes != ProjectSettings.Changes() {
      guard sharing.isEmpty else { return CommandAnswer(.addressesShared(sharing)) }
      settings = try ProjectSettings.change(project, changes, in: &set)
      try ActRecord.note(
        "settings", by: administrator, project: project.id, localID: nil, count: nil, id: eventID, cause: envelope,
        in: &set)
    }
    return try CommandAnswer(
      ProjectSettingsFound(
        allowsDuplicateEmails: settings.allowsDuplicateEmails, protectsAddresses: settings.protectsAddresses))
  }
}

extension APIError {
  fileprivate static func addressesShared(_ localIDs: [String]) -> APIError {
    APIError(
      .operationNotAllowed, "accounts share an address, these among them: \(localIDs.joined(separator: ", "))",
      field: "allowsDuplicateEmails", reason: "ADDRESSES_SHARED")
  }
}
