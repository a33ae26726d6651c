import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.settings`: shows settings of a project, and changes those that it names.
struct SettingsOrder: KeyedOrder {
  /// A million accounts take that long.
  private static let longestCensus = Duration.seconds(120)

  let fingerprints: Fingerprints
  private let project: Project
  private let check: AdministratorCheck
  private let changes: ProjectSettings.Changes
  private let eventID = MessageID.make()
  /// Accounts with an address that others have too, found in the stage.
  private var sharing: [String] = []
  /// Whether the stage has taken all addresses.
  private var hasTaken = false

  init(_ command: ProjectSettingsCommand, _ envelope: Envelope, _ reader: CommandReader) throws(APIError) {
    project = try reader.project(command.project)
    check = try AdministratorCheck(
      bearer: command.bearer, project: project.id, role: .config, of: envelope, replyKey: nil, reader)
    changes = ProjectSettings.Changes(
      allowsDuplicateEmails: command.allowsDuplicateEmails, protectsAddresses: command.protectsAddresses)
    fingerprints = reader.hashes.fingerprints(
      "settings", [project.id] + [changes.allowsDuplicateEmails, changes.protectsAddresses].map { "\($0 as Any)" })
  }

  /// Ends duplicates: addresses become their accounts' alone. A command that died or was cut off on the way goes on
  /// behind the census: since it, sign-ins have taken addresses that others may have.
  var stage: CommandStage? {
    guard changes.allowsDuplicateEmails == false else { return nil }
    return CommandStage(longest: Self.longestCensus, changesStore: true) { [self] access throws(StoreError) in
      var order = self
      let census = AddressCensus(project: project.id)
      let found = try await access.store.read(StoreKeys(), at: access.now()) { [self] set throws(StoreError) in
        try progress(in: set)
      }
      if found == .notBegun {
        order.sharing = try await census.sharing(access)
        guard order.sharing.isEmpty else { return order }
      }
      guard try await begin(access, from: found) else { return order }
      try await census.takeAddresses(access)
      order.hasTaken = true
      return order
    }
  }

  /// The end of duplicates, as a command finds it.
  private enum Progress {
    case notBegun, begun, done
  }

  /// `nil` for a command that is refused.
  private func progress(in set: WorkingSet) throws(StoreError) -> Progress? {
    guard case .success = try check.administrator(in: set) else { return nil }
    let settings = try ProjectSettings.find(project, in: set)
    if settings.allowsDuplicateEmails { return .notBegun }
    return settings.isTakingAddresses ? .begun : .done
  }

  /// Sign-ins take their addresses from now on, so the walk misses none.
  /// - Parameter found: progress before the census. Duplicates that another command has allowed since are not in any
  ///   census.
  /// - Returns: whether there are addresses to take.
  private func begin(_ access: StageAccess, from found: Progress?) async throws(StoreError) -> Bool {
    try await access.transact { [self] set throws(StoreError) in
      guard let progress = try progress(in: set), progress != .done else { return false }
      guard progress == .notBegun else { return true }
      guard found == .notBegun else { return false }
      _ = try ProjectSettings.change(
        project, ProjectSettings.Changes(allowsDuplicateEmails: false, isTakingAddresses: true), in: &set)
      return true
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
      guard isReady(settings) else { return CommandAnswer(.unfinished) }
      settings = try ProjectSettings.change(project, changes, in: &set)
      try ActRecord.note(
        "settings", by: administrator, project: project.id, localID: nil, count: nil, id: eventID, cause: envelope,
        in: &set)
    }
    return try CommandAnswer(
      ProjectSettingsFound(
        allowsDuplicateEmails: settings.allowsDuplicateEmails, protectsAddresses: settings.protectsAddresses))
  }

  /// Whether duplicates may end. Another command may have allowed them again since the stage.
  private func isReady(_ settings: ProjectSettings) -> Bool {
    guard changes.allowsDuplicateEmails == false else { return true }
    return !settings.allowsDuplicateEmails && (hasTaken || !settings.isTakingAddresses)
  }
}

extension APIError {
  fileprivate static func addressesShared(_ localIDs: [String]) -> APIError {
    APIError(
      .operationNotAllowed, "accounts share an address, these among them: \(localIDs.joined(separator: ", "))",
      field: "allowsDuplicateEmails", reason: "ADDRESSES_SHARED")
  }
}
