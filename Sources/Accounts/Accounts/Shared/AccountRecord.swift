import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// An account as it is stored.
struct AccountRecord: Sendable, Hashable {
  static let kind = RecordKind("account")
  /// Key of a number within a project.
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

  /// Numbers of the fields. A later version adds some; a number never changes its meaning.
  private enum Tag {
    static let project: UInt8 = 1
    static let createdAt: UInt8 = 2
    static let lastLoginAt: UInt8 = 3
    static let lastRefreshAt: UInt8 = 4
    static let validSince: UInt8 = 5
    static let phoneNumber: UInt8 = 6
    static let isNumberFictional: UInt8 = 7
    static let displayName: UInt8 = 8
    static let photoURL: UInt8 = 9
    static let isDisabled: UInt8 = 10
    static let isAnonymous: UInt8 = 11
    static let numberTrustedFrom: UInt8 = 12
  }

  func store(in set: inout WorkingSet) throws(StoreError) {
    var body = FieldWriter()
    body.put(Tag.project, project)
    body.put(Tag.createdAt, createdAt)
    body.put(Tag.lastLoginAt, lastLoginAt)
    body.put(Tag.lastRefreshAt, lastRefreshAt)
    body.put(Tag.validSince, validSince)
    body.put(Tag.phoneNumber, phoneNumber)
    body.put(Tag.isNumberFictional, isNumberFictional)
    body.put(Tag.displayName, displayName)
    body.put(Tag.photoURL, photoURL)
    body.put(Tag.isDisabled, isDisabled)
    body.put(Tag.isAnonymous, isAnonymous)
    body.put(Tag.numberTrustedFrom, numberTrustedFrom)
    var uniqueKeys: [UniqueKey] = []
    if let phoneNumber { uniqueKeys.append(try Self.key(ofNumber: phoneNumber, project: project)) }
    try set.store(
      id, body: body.bytes, dueAt: isAnonymous ? endsAt : nil, discardAt: nil, uniqueKeys: uniqueKeys,
      groupKeys: [try Self.group(ofProject: project)])
  }

  init(_ record: Record) throws(StoreError) {
    let body = try FieldReader(record.body)
    id = record.id
    project = try body.required(body.text(Tag.project))
    createdAt = try body.required(body.time(Tag.createdAt))
    lastLoginAt = try body.required(body.time(Tag.lastLoginAt))
    lastRefreshAt = body.time(Tag.lastRefreshAt)
    validSince = try body.required(body.time(Tag.validSince))
    phoneNumber = body.text(Tag.phoneNumber)
    isNumberFictional = body.isSet(Tag.isNumberFictional)
    displayName = body.text(Tag.displayName)
    photoURL = body.text(Tag.photoURL)
    isDisabled = body.isSet(Tag.isDisabled)
    isAnonymous = body.isSet(Tag.isAnonymous)
    endsAt = record.dueAt
    numberTrustedFrom = body.time(Tag.numberTrustedFrom)
  }

  // MARK: Look-ups

  /// The key of a number. Numbers are in the clear in accounts anyway.
  static func key(ofNumber number: String, project: String) throws(StoreError) -> UniqueKey {
    try UniqueKey(phone, Array(project.utf8) + [0] + Array(number.utf8))
  }

  static func group(ofProject project: String) throws(StoreError) -> GroupKey {
    try GroupKey(ofProject, Array(project.utf8))
  }

  /// Adds what ``find(_:project:in:)`` looks up.
  static func addKeys(of localID: String, to keys: inout StoreKeys) {
    if let id = RecordID(kind, localID) { keys.add(record: id) }
  }

  /// An account of a project. `nil` for one of another project.
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
