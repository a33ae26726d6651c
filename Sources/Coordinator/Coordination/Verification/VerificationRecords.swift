import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// Verifications as records of the store.
struct VerificationRecords: Sendable {
  static let kind = RecordKind("verification")
  /// Key of a live verification: each ``VerificationKey`` has one at a time.
  static let live = KeySpace(kind, "live")
  /// ID of a later handle, which leads to its verification.
  static let handle = KeySpace(kind, "handle")
  /// All verifications of a number, of every app, whether or not they have ended.
  static let number = KeySpace(kind, "number")

  private let retention: Duration
  let conversions: Conversions

  init(_ rules: CoordinatorRules, conversions: Conversions) {
    retention = rules.retention
    self.conversions = conversions
  }

  // MARK: Keys

  func addKeys(ofID id: String, to keys: inout StoreKeys) throws(StoreError) {
    guard let record = Self.recordID(id) else { return }
    keys.add(record: record)
    keys.add(holderOf: try Self.key(ofHandle: id))
  }

  private static func recordID(_ id: String) -> RecordID? {
    guard id.utf8.count <= VerificationID.maxLength else { return nil }
    return RecordID(kind, id)
  }

  static func key(ofLive key: VerificationKey) throws(StoreError) -> UniqueKey {
    let texts = [key.app, key.purpose.rawValue, key.subject ?? "", key.phoneNumber]
    let parts = [[key.isTestNumber ? 1 : 0], key.requester]
    return try UniqueKey(
      live, SHA256.hash(VerificationCodes.framed("countersign live verification", texts: texts, parts)))
  }

  private static func key(ofHandle id: String) throws(StoreError) -> UniqueKey {
    try UniqueKey(handle, SHA256.hash(VerificationCodes.framed("countersign handle", texts: [id])))
  }

  private static func group(ofNumber phoneNumber: String) throws(StoreError) -> GroupKey {
    try GroupKey(number, SHA256.hash(VerificationCodes.framed("countersign number", texts: [phoneNumber])))
  }

  // MARK: Look-ups

  func found(_ id: String, in set: WorkingSet) throws(StoreError) -> AskedVerification? {
    guard Self.recordID(id) != nil else { return nil }
    if let verification = try verification(id, in: set) { return AskedVerification(verification: verification) }
    guard let record = try set.holder(of: Self.key(ofHandle: id)) else { return nil }
    let verification = try PhoneVerification(record)
    return verification.handle(withID: id).map { AskedVerification(verification: verification, handle: $0) }
  }

  /// The verification with an ID of its own, which is that of its first handle.
  func verification(_ id: String, in set: WorkingSet) throws(StoreError) -> PhoneVerification? {
    guard let id = Self.recordID(id), let record = try set.record(id) else { return nil }
    return try PhoneVerification(record)
  }

  /// The verification of a key that has not ended, even if its deadline has passed.
  func live(_ key: UniqueKey, in set: WorkingSet) throws(StoreError) -> PhoneVerification? {
    guard let record = try set.holder(of: key) else { return nil }
    return try PhoneVerification(record)
  }

  /// The first page of the verifications of a number, of every app, whether or not they have ended.
  func page(ofNumber phoneNumber: String, in set: WorkingSet) throws(StoreError) -> (records: [Record], isLast: Bool) {
    let (records, isComplete) = try set.group(Self.group(ofNumber: phoneNumber))
    return (records, isComplete)
  }

  // MARK: Changes

  /// Stores a verification, and counts its end for the conversion.
  func put(
    _ verification: PhoneVerification, before: PhoneVerification?, liveKey: UniqueKey? = nil,
    in set: inout WorkingSet
  ) throws(StoreError) {
    guard let id = Self.recordID(verification.id) else { throw FieldReader.unreadable }
    let isLive = verification.state.isLive
    let discardAt = (isLive ? verification.expiresAt : verification.endedAt ?? set.now) + retention
    let known = before == nil ? nil : try set.record(id)
    let uniqueKeys: [UniqueKey]
    if let known, let before, before.hasKeys(of: verification) {
      uniqueKeys = known.uniqueKeys
    } else {
      uniqueKeys = try Self.uniqueKeys(of: verification, liveKey)
    }
    var groupKeys = known?.groupKeys ?? []
    if groupKeys.isEmpty { groupKeys = [try Self.group(ofNumber: verification.phoneNumber)] }
    try set.store(
      id, body: verification.body(), dueAt: isLive ? verification.expiresAt : discardAt, discardAt: discardAt,
      uniqueKeys: uniqueKeys, groupKeys: groupKeys)
    try conversions.note(verification, before: before, in: &set)
  }

  private static func uniqueKeys(
    of verification: PhoneVerification, _ liveKey: UniqueKey?
  ) throws(StoreError) -> [UniqueKey] {
    var keys: [UniqueKey] = []
    if verification.state.isLive {
      if let liveKey { keys.append(liveKey) } else { keys.append(try key(ofLive: verification.key)) }
    }
    for handle in verification.handles.later { keys.append(try key(ofHandle: handle.id)) }
    return keys
  }
}

// MARK: - Body

extension PhoneVerification {
  /// Whether its record has the keys of another state of it: they change with its end, and with its handles.
  fileprivate func hasKeys(of other: PhoneVerification) -> Bool {
    state.isLive == other.state.isLive && handles.later.count == other.handles.later.count
  }

  /// Tags of the fields in the body of a record. A tag never changes its meaning.
  private enum Tag {
    static let app: UInt8 = 1
    static let phoneNumber: UInt8 = 2
    static let region: UInt8 = 3
    static let isTestNumber: UInt8 = 4
    static let purpose: UInt8 = 5
    static let subject: UInt8 = 6
    static let code: UInt8 = 7
    static let createdAt: UInt8 = 8
    static let askedLate: UInt8 = 9
    static let requester: UInt8 = 10
    static let source: UInt8 = 11
    static let state: UInt8 = 12
    static let languageCode: UInt8 = 13
    static let expiresAt: UInt8 = 14
    static let resendAfter: UInt8 = 15
    static let endedAt: UInt8 = 16
    static let checks: UInt8 = 17
    static let messages: UInt8 = 18
    static let failureCode: UInt8 = 19
    static let failureDetail: UInt8 = 20
    static let timeline: UInt8 = 21
    static let handles: UInt8 = 22
  }

  init(_ record: Record) throws(StoreError) {
    try self.init(id: record.id.text, FieldReader(record.body))
  }

  init(id: String, _ fields: FieldReader) throws(StoreError) {
    guard let code = CodeAtRest(blob: fields.block(Tag.code) ?? []) else { throw FieldReader.unreadable }
    self.id = id
    app = try fields.required(fields.text(Tag.app))
    phoneNumber = try fields.required(fields.text(Tag.phoneNumber))
    region = try fields.required(fields.text(Tag.region))
    isTestNumber = fields.isSet(Tag.isTestNumber)
    purpose = try fields.required(fields.word(Tag.purpose, VerificationPurpose.self))
    subject = fields.text(Tag.subject)
    self.code = code
    createdAt = try fields.required(fields.time(Tag.createdAt))
    askedLate = fields.isSet(Tag.askedLate)
    requester = fields.block(Tag.requester) ?? []
    source = fields.block(Tag.source) ?? []
    state = try fields.required(fields.word(Tag.state, VerificationState.self))
    languageCode = fields.text(Tag.languageCode)
    expiresAt = try fields.required(fields.time(Tag.expiresAt))
    resendAfter = try fields.required(fields.time(Tag.resendAfter))
    endedAt = fields.time(Tag.endedAt)
    checks = fields.number(Tag.checks) ?? 0
    messages = (fields.text(Tag.messages) ?? "").utf8.map(MessageProgress.init)
    failure = fields.text(Tag.failureCode).map {
      VerificationFailure(code: $0, detail: fields.text(Tag.failureDetail))
    }
    timeline = Timeline(text: fields.text(Tag.timeline) ?? "")
    if let text = fields.text(Tag.handles) { handles = try StoredJSON.read(text) }
  }

  func body() throws(StoreError) -> [UInt8] {
    var fields = FieldWriter()
    fields.put(Tag.app, app)
    fields.put(Tag.phoneNumber, phoneNumber)
    fields.put(Tag.region, region)
    fields.put(Tag.isTestNumber, isTestNumber)
    fields.put(Tag.purpose, purpose.rawValue)
    fields.put(Tag.subject, subject)
    fields.put(Tag.code, code.blob)
    fields.put(Tag.createdAt, createdAt)
    fields.put(Tag.askedLate, askedLate)
    fields.put(Tag.requester, requester)
    fields.put(Tag.source, source)
    fields.put(Tag.state, state.rawValue)
    fields.put(Tag.languageCode, languageCode)
    fields.put(Tag.expiresAt, expiresAt)
    fields.put(Tag.resendAfter, resendAfter)
    fields.put(Tag.endedAt, endedAt)
    fields.put(Tag.checks, checks)
    fields.put(Tag.messages, messages.map(\.letter))
    fields.put(Tag.failureCode, failure?.code)
    fields.put(Tag.failureDetail, failure?.detail)
    fields.put(Tag.timeline, timeline.text)
    // As a rule only the first requester has a handle.
    if !handles.isEmpty { fields.put(Tag.handles, try StoredJSON.text(handles)) }
    return fields.bytes
  }
}

extension PhoneVerification.MessageProgress {
  /// Letter of an SMS in the body of a record.
  fileprivate var letter: UInt8 {
    switch self {
    case .outstanding: UInt8(ascii: "o")
    case .accepted: UInt8(ascii: "a")
    case .refused: UInt8(ascii: "r")
    case .expired: UInt8(ascii: "x")
    case .unknown: UInt8(ascii: "u")
    case .delivered: UInt8(ascii: "d")
    case .undelivered: UInt8(ascii: "n")
    }
  }

  fileprivate init(letter: UInt8) {
    switch letter {
    case UInt8(ascii: "o"): self = .outstanding
    case UInt8(ascii: "a"): self = .accepted
    case UInt8(ascii: "r"): self = .refused
    case UInt8(ascii: "x"): self = .expired
    case UInt8(ascii: "d"): self = .delivered
    case UInt8(ascii: "n"): self = .undelivered
    default: self = .unknown
    }
  }
}
