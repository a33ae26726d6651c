import CommandEngine
import CountersignTelemetry

/// Sealing anew of what accounts keep under the token keys, after a change of these, so that the former keys can go:
/// grants, and the shared secrets of second factors.
struct SealUpkeep: Sendable {
  /// Accounts of each former key, each round.
  private static let page = StoreKeys.GroupPage(limit: 100)

  let grants: GrantSealer
  let secrets: SharedSecretSealer
  let logger: Logger

  /// - Returns: whether more are left.
  func run(_ store: any Store, at now: UnixTime) async throws(StoreError) -> Bool {
    var isComplete = true
    for key in grants.formerKeys {
      let group = try AccountRecord.group(ofSecretsUnder: key)
      let isEmpty = try await store.read(StoreKeys(), at: now) { set throws(StoreError) in
        try set.group(group, Self.page).records.isEmpty
      }
      if !isEmpty { isComplete = try await sealAgain(key, group, store, at: now) && isComplete }
    }
    return !isComplete
  }

  private func sealAgain(
    _ key: String, _ group: GroupKey, _ store: any Store, at now: UnixTime
  ) async throws(StoreError) -> Bool {
    let outcome = try await store.transact(at: now) { [self] set throws(StoreError) in
      let found = try set.group(group, Self.page)
      var count = 0
      for record in found.records {
        var account = try AccountRecord(record)
        count += sealAgain(&account, key)
        try account.store(in: &set)
      }
      return (count: count, isComplete: found.isComplete)
    }
    // Another process, or a command, has changed one of them: the next round tries again.
    guard case .stored(let (count, isComplete), _) = outcome else { return false }
    logger.info(
      "secrets of accounts were sealed again under the first token key", ["formerKey": key, "count": "\(count)"])
    return isComplete || count == 0
  }

  private func sealAgain(_ account: inout AccountRecord, _ key: String) -> Int {
    var count = 0
    for index in account.identities.indices where account.identities[index].grant?.sealedUnder == key {
      guard let again = account.identities[index].grant.flatMap(grants.sealAgain) else { continue }
      account.identities[index].grant = again
      count += 1
    }
    for index in account.secondFactors.indices where account.secondFactors[index].secret?.sealedUnder == key {
      guard let again = secrets.sealAgain(account.secondFactors[index], of: account.id) else { continue }
      account.secondFactors[index].secret = again
      count += 1
    }
    return count
  }
}
