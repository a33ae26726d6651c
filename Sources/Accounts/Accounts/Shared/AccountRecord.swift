import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

struct AccountRecord: Sendable, Hashable {
  static let kind = RecordKind("account")
  static let phone = KeySpace(kind, "phone")
  static let ofProject = KeySpace(kind, "project")
  static let idLength = 28

  let id: RecordID
  let project: String
  let createdAt: UnixTime
  var lastLoginAt: UnixTime
  var lastRefreshAt: UnixTime?
  /// Sessions and ID tokens from before are void. Whole seconds, as the `iat` of tokens.
  var validSince: UnixTime
  /// E.164.
  var phoneNumber: String?
  /// Whether its number was proven with a fictional code only, or the one that it had last.
  var isNumberFictional = false
  /// Time from which a sign-in by the number counts as recent: the number was put on the account without a recent
  /// sign-in. `nil` when it always does.
  var numberTrustedFrom: UnixTime?
  /// Whether it never had a way to sign in: only its first session opens it.
  var isAnonymous = false
  /// Time at which the end of its last session is looked for. Of an anonymous account only, which goes with that.
  var endsAt: UnixTime?
  var displayName: String?
  var photoURL: String?
  var isDisabled = false

  init(_ id: RecordID, project: String, at now: UnixTime) {
    self.id = id
    self.project = project
    createdAt = now
    lastLoginAt = now
    validSince = UnixTime(seconds: now.seconds)
  }

  var localID: String { id.text }

  var view: AccountView {
    var view = AccountView(localID: localID, createdAt: createdAt, lastLoginAt: lastLoginAt, validSince: validSince)
    view.displayName = displayName
    view.photoURL = photoURL
    view.phoneNumber = phoneNumber
    view.disabled = isDisabled
    view.lastRefreshAt = lastRefreshAt
    return view
  }

  // MARK: Storing

  func store(isNew: Bool = false, in set: inout WorkingSet) throws(StoreError) {
    var uniqueKeys: [UniqueKey] = []
    if let phoneNumber { uniqueKeys.append(try Self.key(ofNumber: phoneNumber, project: project)) }
    try set.store(
      id, self, isNew: isNew, dueAt: isAnonymous ? endsAt : nil, discardAt: nil, uniqueKeys: uniqueKeys,
      groupKeys: [try Self.group(ofProject: project)])
  }

  // MARK: Look-ups

  /// Numbers are in the clear in accounts anyway.
  static func key(ofNumber number: String, project: String) throws(StoreError) -> UniqueKey {
    try UniqueKey(phone, Array(project.utf8) + [0] + Array(number.utf8))
  }

  static func group(ofProject project: String) throws(StoreError) -> GroupKey {
    try GroupKey(ofProject, Array(project.utf8))
  }

  static func addKeys(of localID: String, to keys: inout StoreKeys) {
    if let id = RecordID(kind, localID) { keys.add(record: id) }
  }

  /// `nil` for an account of another project.
  static func find(_ localID: String, project: String, in set: WorkingSet) throws(StoreError) -> AccountRecord? {
    guard let id = RecordID(kind, localID), let record = try set.record(id) else { return nil }
    let account = try AccountRecord(record)
    return account.project == project ? account.corrected(at: set.now) : nil
  }

  static func find(number: String, project: String, in set: WorkingSet) throws(StoreError) -> AccountRecord? {
    guard let record = try set.holder(of: key(ofNumber: number, project: project)) else { return nil }
    return try AccountRecord(record).corrected(at: set.now)
  }

  /// The account without a ``validSince`` from the future: the clock was set back, and no token could be valid until it
  /// has caught up. Sessions that were ended are deleted, so none comes back.
  private func corrected(at now: UnixTime) -> AccountRecord {
    guard validSince > now + IDTokens.maxSkew else { return self }
    var account = self
    account.validSince = UnixTime(seconds: 0)
    return account
  }
}

extension AccountRecord: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ account: Self?) throws(UnreadableFields) {
    id = record.id
    project = try fields.required(1, account?.project)
    createdAt = try fields.required(2, account?.createdAt)
    lastLoginAt = try fields.required(3, account?.lastLoginAt)
    lastRefreshAt = fields.optional(4, account?.lastRefreshAt)
    validSince = try fields.required(5, account?.validSince)
    phoneNumber = fields.optional(6, account?.phoneNumber)
    isNumberFictional = fields.flag(7, account?.isNumberFictional)
    displayName = fields.optional(8, account?.displayName)
    photoURL = fields.optional(9, account?.photoURL)
    isDisabled = fields.flag(10, account?.isDisabled)
    isAnonymous = fields.flag(11, account?.isAnonymous)
    numberTrustedFrom = fields.optional(12, account?.numberTrustedFrom)
    endsAt = record.dueAt
  }
}
