import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// The keys that sign ID tokens: `keys.get`, `keys.rotate`, and all that becomes of a key.
struct KeysFlow: Flow {
  private let keys: SigningKeys
  private let maintenance: SigningKeyMaintenance
  private let hashes: AccountHashes

  init(_ parts: AccountParts) {
    keys = parts.idTokens.keys
    hashes = parts.hashes
    maintenance = SigningKeyMaintenance(keys, SigningKeyMetrics(parts.metrics), parts.logger)
  }

  var commands: [CommandKind] {
    [
      CommandKind(GetKeys.self, users: .requesters, isLook: true) { [keys] _, _, _ throws(APIError) in
        KeysOrder(keys: keys)
      },
      CommandKind(RotateKeys.self, users: .operators, isRefusedLate: true) {
        [keys, hashes, maintenance] command, _, _ throws(APIError) in
        RotationOrder(command, keys, hashes, maintenance.logger)
      },
    ]
  }

  /// Runs each round, so that a key which another process has made is known long before it signs.
  var tasks: [FlowTask] {
    [
      FlowTask(MaintenancePart(rawValue: "rotate_keys")) { store, now throws(StoreError) in
        try await maintenance.run(store, at: now)
        return false
      }
    ]
  }

  var dueRecords: [DueRecords] {
    [
      DueRecords(SigningKeyRecord.kind, part: MaintenancePart(rawValue: "publish_keys")) {
        record, set throws(StoreError) in
        try maintenance.end(record, in: &set)
      }
    ]
  }

  func begin(_ store: any Store, at now: UnixTime) async throws(StoreError) {
    try await maintenance.run(store, at: now)
  }
}

/// `keys.get`: the keys as they stand in the store, so that no process answers with fewer than another.
private struct KeysOrder: CommandOrder {
  let keys: SigningKeys

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let entries = keys.read(try set.group(SigningKeyRecord.group).records).entries
    guard !entries.isEmpty else { return CommandAnswer(.noSigningKey) }
    return try CommandAnswer(keys.published(entries, at: set.now))
  }
}
