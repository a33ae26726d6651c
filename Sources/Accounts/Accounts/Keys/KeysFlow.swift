import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// The keys that sign ID tokens and session cookies: `keys.get`, `keys.rotate`, and all that becomes of a key.
struct KeysFlow: Flow {
  private let keys: SigningKeys
  private let cookieKeys: SigningKeys
  private let maintenance: SigningKeyMaintenance
  private let cookieMaintenance: SigningKeyMaintenance
  private let hashes: AccountHashes

  init(_ parts: AccountParts) {
    keys = parts.idTokens.keys
    hashes = parts.hashes
    cookieKeys = parts.cookies.keys
    maintenance = SigningKeyMaintenance(
      keys, parts.metrics, parts.logger, beside: parts.cookies.keys)
    cookieMaintenance = parts.cookies.maintenance
  }

  var commands: [CommandKind] {
    [
      CommandKind(GetKeys.self, users: .requesters, isLook: true) { [keys, cookieKeys] _, _, _ throws(APIError) in
        KeysOrder(keys: keys, cookieKeys: cookieKeys)
      },
      CommandKind(RotateKeys.self, users: .operators, isRefusedLate: true) {
        [keys, cookieKeys, hashes, maintenance] command, _, _ throws(APIError) in
        RotationOrder(command, keys, cookies: cookieKeys, hashes, maintenance.logger)
      },
    ]
  }

  /// Runs each round, so that a key which another process has made is known long before it signs.
  var tasks: [FlowTask] {
    [
      FlowTask(MaintenancePart(rawValue: "rotate_keys")) { store, now throws(StoreError) in
        try await maintenance.run(store, at: now)
        try await cookieMaintenance.run(store, at: now, makesFirst: false)
        return false
      }
    ]
  }

  var dueRecords: [DueRecords] {
    [maintenance, cookieMaintenance].map { maintenance in
      let name = maintenance.keys.purpose == .cookies ? "publish_cookie_keys" : "publish_keys"
      return DueRecords(maintenance.keys.purpose.kind, part: MaintenancePart(rawValue: name)) {
        record, set throws(StoreError) in
        try maintenance.end(record, in: &set)
      }
    }
  }

  func begin(_ store: any Store, at now: UnixTime) async throws(StoreError) {
    try await maintenance.run(store, at: now)
    try await cookieMaintenance.run(store, at: now, makesFirst: false)
  }
}

/// `keys.get`: the keys as they stand in the store, so that no process answers with fewer than another.
private struct KeysOrder: CommandOrder {
  let keys: SigningKeys
  let cookieKeys: SigningKeys

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let readings = try set.each([keys, cookieKeys]) { keys throws(StoreError) in
      keys.read(try set.group(keys.purpose.group).records).entries
    }
    guard !readings[0].isEmpty else { return CommandAnswer(.noSigningKey) }
    let cookies = cookieKeys.published(readings[1], at: set.now)
    return try CommandAnswer(keys.published(readings[0], cookies: cookies, at: set.now))
  }
}
