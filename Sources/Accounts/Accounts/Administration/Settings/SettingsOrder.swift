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

  var stage: CommandStage? {
    guard changes.allowsDuplicateEmails == false else { return nil }
    return CommandStage(longest: Self.longestCensus) { [self] access throws(StoreError) in
      var order = self
      let isNeeded = try await access.store.read(StoreKeys(), at: access.now()) {
        [check, project] set throws(StoreError) in
        guard case .success = try check.administrator(in: set) else { return false }
        return try ProjectSettings.find(project, in: set).allowsDuplicateEmails
      }
      if isNeeded { order.sharing = try await AddressCensus(project: project.id).sharing(access) }
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

/// Search for accounts of a project that share an address.
struct AddressCensus: Sendable {
  /// Local IDs that a refusal names.
  static let maxNamed = 10

  let project: String

  /// A digest of each address is kept: 100 MB for a million accounts.
  func sharing(_ access: StageAccess) async throws(StoreError) -> [String] {
    let group = try AccountRecord.group(ofProject: project)
    var holders: [[UInt8]: String] = [:]
    var sharing: [String] = []
    var behind = ""
    while sharing.count < Self.maxNamed, !Task.isCancelled {
      let page = StoreKeys.GroupPage(behind: behind)
      let (records, isComplete) = try await access.store.read(StoreKeys(), at: access.now()) { set throws(StoreError) in
        try set.group(group, page)
      }
      for record in records {
        let account = try AccountRecord(record)
        for address in account.comparedAddresses {
          let digest = AccountHashes.digest("email", [project, address])
          if let other = holders[digest], other != account.localID {
            for localID in [other, account.localID] where !sharing.contains(localID) { sharing.append(localID) }
          }
          holders[digest] = account.localID
        }
      }
      guard let last = records.last, !isComplete else { break }
      behind = last.id.text
    }
    return Array(sharing.prefix(Self.maxNamed))
  }
}

extension AccountRecord {
  /// Addresses that it alone would have: its own, and those that providers which are believed call verified.
  fileprivate var comparedAddresses: Set<String> {
    Set(([email] + identities.filter(\.isEmailVerified).map(\.email)).compactMap { $0?.normalizedAddress })
  }
}

extension APIError {
  fileprivate static func addressesShared(_ localIDs: [String]) -> APIError {
    APIError(
      .operationNotAllowed, "accounts share an address, these among them: \(localIDs.joined(separator: ", "))",
      field: "allowsDuplicateEmails", reason: "ADDRESSES_SHARED")
  }
}
