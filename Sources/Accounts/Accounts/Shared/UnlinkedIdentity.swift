import CountersignEncoding

/// Identity that was unlinked from an account, as a hash without a key.
struct UnlinkedIdentity: Sendable, Hashable {
  fileprivate static let most = 16

  private let hash: [UInt8]

  init(_ subject: String, at provider: String) { hash = AccountHashes.digest("unlinked", [provider, subject]) }
}

extension UnlinkedIdentity: FieldCoded {
  init(_ fields: inout FieldCoder, _ identity: Self?) throws(UnreadableFields) {
    hash = try fields.required(1, identity?.hash)
  }
}

extension AccountRecord {
  func hasUnlinked(_ subject: String, at provider: String) -> Bool {
    unlinked.contains(UnlinkedIdentity(subject, at: provider))
  }

  mutating func add(_ identity: LinkedIdentity) {
    unlinked.removeAll { $0 == UnlinkedIdentity(identity.subject, at: identity.provider) }
    identities.append(identity)
    noteVouched(by: identity)
  }

  /// An identity that owns the account's own address proves it.
  mutating func noteVouched(by identity: LinkedIdentity) {
    guard identity.ownsEmail, let address = identity.email?.normalizedAddress else { return }
    if email?.normalizedAddress == address { isEmailVerified = true }
  }

  mutating func unlink(_ providers: Set<String>) {
    let leaving = identities.filter { providers.contains($0.provider) }
    lostGrants += leaving.compactMap(\.lostGrant)
    unlinked += leaving.map { UnlinkedIdentity($0.subject, at: $0.provider) }
    unlinked.removeFirst(max(0, unlinked.count - UnlinkedIdentity.most))
    identities.removeAll { providers.contains($0.provider) }
  }
}
