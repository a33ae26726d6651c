import CommandEngine
import CountersignMessages
import CountersignTelemetry
import PasswordHashing

/// A user from another system, who keeps ID, ways to sign in and times.
struct ImportedUser: Sendable {
  let id: RecordID
  private let project: String
  private let localID: String
  private let fields: AccountFields
  private let createdAt: UnixTime?
  private let lastLoginAt: UnixTime?
  let hash: PasswordHash?

  init(_ user: UserFields, project: String, hash: PasswordHash?) throws(APIError) {
    fields = try AccountFields(user)
    guard let localID = fields.localID, let id = AccountRecord.id(of: localID, project: project) else {
      throw .missingLocalID
    }
    guard user.password == nil else {
      throw APIError(.invalidArgument, "a user is imported with the hash of the password", field: "password")
    }
    (self.id, self.localID, self.project, self.hash) = (id, localID, project, hash)
    (createdAt, lastLoginAt) = (user.createdAt, user.lastLoginAt)
  }

  func addKeys(to keys: inout StoreKeys) throws(StoreError) {
    keys.add(record: id)
    keys.add(record: try PasswordRecord.id(of: id))
    try fields.addKeys(in: project, to: &keys)
  }

  /// Stores it, unless it is stored as it is.
  /// - Returns: the reason that it is refused. Nothing is changed then.
  func store(keepsExisting: Bool, in set: inout WorkingSet) throws(StoreError) -> APIError? {
    let existing = try AccountRecord.find(id, project: project, in: set)
    if keepsExisting, existing != nil { return .localIDTaken }
    if let conflict = try fields.conflict(with: id, in: project, set) { return conflict }
    let stored = try existing?.hasPassword == true ? PasswordRecord.find(id, in: set)?.hash : nil
    var account = try account(existing, at: set.now)
    if let refusal = fields.secondFactors.apply(to: &account, .leftOut, at: set.now) { return refusal }
    if let hash, hash != stored {
      try account.setPassword(hash, in: &set)
    } else if hash == nil, stored != nil {
      try account.removePassword(in: &set)
    } else {
      account.passwordChangedAt = existing?.passwordChangedAt
    }
    guard account != existing else { return nil }
    // Its sessions, if there were any, were begun by what it had before.
    let hasLost = existing.map { !account.lostSecondFactors(from: $0).isEmpty } ?? false
    if existing != nil, hash != stored || hasLost { account.validSince = max(account.validSince, set.now.wholeSeconds) }
    try account.store(in: &set)
    return nil
  }

  /// The account without its password.
  private func account(_ existing: AccountRecord?, at now: UnixTime) throws(StoreError) -> AccountRecord {
    let createdAt = min(createdAt ?? existing?.createdAt ?? now, now)
    var account = try AccountRecord(localID, project: project, at: createdAt)
    account.lastLoginAt = max(min(lastLoginAt ?? createdAt, now), existing?.lastLoginAt ?? createdAt)
    let validSince = min(fields.validSince ?? createdAt, now).wholeSeconds
    account.validSince = max(validSince, existing?.validSince ?? validSince)
    account.lastRefreshAt = existing?.lastRefreshAt
    account.appleRevokedAt = existing?.appleRevokedAt
    account.email = fields.email
    account.isEmailVerified = fields.email != nil && fields.isEmailVerified ?? false
    account.initialEmail = existing?.initialEmail ?? fields.email
    account.signsInByLink = fields.email != nil && existing?.signsInByLink ?? false
    account.phoneNumber = fields.phoneNumber
    account.isDisabled = fields.isDisabled ?? false
    account.claims = fields.claims
    fields.profile.apply(to: &account)
    for identity in fields.identities {
      let linked = existing?.identity(at: identity.providerID).flatMap { $0.isSubject(identity.subject) ? $0 : nil }
      account.identities.append(linked ?? LinkedIdentity(identity, linkedAt: createdAt))
    }
    account.unlinked = existing?.unlinked ?? []
    account.secondFactors = existing?.secondFactors ?? []
    account.consents = existing?.consents ?? []
    account.lostGrants = (existing?.identities ?? []).filter { !account.identities.contains($0) }
      .compactMap(\.lostGrant)
    return account
  }
}

extension UnixTime {
  /// Without its milliseconds.
  var wholeSeconds: UnixTime { UnixTime(seconds: seconds) }
}
