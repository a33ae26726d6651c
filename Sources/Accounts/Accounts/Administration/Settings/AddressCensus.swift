import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Walk through the accounts of a project, before and after an address is to have one account.
struct AddressCensus: Sendable {
  /// Local IDs that a refusal names.
  static let maxNamed = 10

  let project: String

  /// Accounts that share an address. A digest of each address is kept: 100 MB for a million accounts.
  func sharing(_ access: StageAccess) async throws(StoreError) -> [String] {
    var holders: [[UInt8]: String] = [:]
    var sharing: [String] = []
    try await access.walk(accountsOf: project) { records throws(StoreError) in
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
      return sharing.count < Self.maxNamed
    }
    return Array(sharing.prefix(Self.maxNamed))
  }

  /// Gives identities the addresses that they would have taken without duplicates. One that another account has taken
  /// meanwhile stays that one's.
  func takeAddresses(_ access: StageAccess) async throws(StoreError) {
    try await access.walk(accountsOf: project) { records throws(StoreError) in
      var ids: [RecordID] = []
      for record in records where try AccountRecord(record).identities.contains(where: \.lacksAddress) {
        ids.append(record.id)
      }
      guard !ids.isEmpty else { return true }
      try await access.transact { [ids] set throws(StoreError) in try takeAddresses(of: ids, in: &set) }
      return true
    }
  }

  private func takeAddresses(of ids: [RecordID], in set: inout WorkingSet) throws(StoreError) {
    let accounts = try set.each(ids) { id throws(StoreError) in try AccountRecord.find(id, project: project, in: set) }
      .compactMap(\.self)
    var keys = StoreKeys()
    for email in accounts.flatMap(\.identities).filter(\.lacksAddress).compactMap(\.email) {
      keys.add(holderOf: try AccountRecord.key(ofEmail: email, project: project))
    }
    try set.require(keys)
    for var account in accounts {
      try account.takeFreeAddresses(in: set)
      try account.store(in: &set)
    }
  }
}

extension AccountRecord {
  /// Addresses that it alone would have: its own, and those that its identities may.
  fileprivate var comparedAddresses: Set<String> {
    Set(([email] + identities.filter(\.mayOwnEmail).map(\.email)).compactMap { $0?.normalizedAddress })
  }

  fileprivate mutating func takeFreeAddresses(in set: WorkingSet) throws(StoreError) {
    for (index, identity) in identities.enumerated() where identity.lacksAddress {
      guard let email = identity.email else { continue }
      let holder = try Self.find(holderOf: Self.key(ofEmail: email, project: project), in: set)
      guard holder.map({ $0.id == id }) ?? true else { continue }
      identities[index].ownsEmail = true
      noteVouched(by: identities[index])
    }
  }
}

extension LinkedIdentity {
  fileprivate var mayOwnEmail: Bool { isEmailVerified && email.map { !ProvenIdentity.isRelay($0) } ?? false }

  fileprivate var lacksAddress: Bool { mayOwnEmail && !ownsEmail }
}
