import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

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

  static func group(ofNumber phoneNumber: String) throws(StoreError) -> GroupKey {
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

  func page(
    ofNumber phoneNumber: String, behind id: String, in set: WorkingSet
  ) throws(StoreError) -> (records: [Record], isLast: Bool) {
    let page = StoreKeys.GroupPage(behind: id)
    let (records, isComplete) = try set.group(Self.group(ofNumber: phoneNumber), page)
    return (records, isComplete)
  }

  // MARK: Changes

  /// Stores a verification, and counts its end for the conversion.
  func put(
    _ verification: PhoneVerification, before: PhoneVerification?, liveKey: UniqueKey? = nil,
    in set: inout WorkingSet
  ) throws(StoreError) {
    guard let id = Self.recordID(verification.id) else { throw .unreadableBody }
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
      id, verification, isNew: before == nil, dueAt: isLive ? verification.expiresAt : discardAt,
      discardAt: discardAt, uniqueKeys: uniqueKeys, groupKeys: groupKeys)
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

extension PhoneVerification: StoredRecord {
  /// Whether its record has the keys of another state of it: they change with its end, and with its handles.
  fileprivate func hasKeys(of other: PhoneVerification) -> Bool {
    state.isLive == other.state.isLive && handles.later.count == other.handles.later.count
  }

  init(_ record: Record, _ fields: inout FieldCoder, _ verification: Self?) throws(UnreadableFields) {
    id = record.id.text
    app = try fields.required(1, verification?.app)
    phoneNumber = try fields.required(2, verification?.phoneNumber)
    region = try fields.required(3, verification?.region)
    isTestNumber = fields.flag(4, verification?.isTestNumber)
    purpose = try fields.required(5, verification?.purpose)
    subject = fields.optional(6, verification?.subject)
    let code = try fields.required(7, verification?.code.blob)
    self.code = try FieldCoder.present(verification?.code ?? CodeAtRest(blob: code))
    createdAt = try fields.required(8, verification?.createdAt)
    askedLate = fields.flag(9, verification?.askedLate)
    requester = try fields.required(10, verification?.requester)
    source = try fields.required(11, verification?.source)
    state = try fields.required(12, verification?.state)
    languageCode = fields.optional(13, verification?.languageCode)
    expiresAt = try fields.required(14, verification?.expiresAt)
    resendAfter = try fields.required(15, verification?.resendAfter)
    endedAt = fields.optional(16, verification?.endedAt)
    checks = try fields.required(17, verification?.checks)
    let letters: [UInt8] = try fields.required(18, verification?.messages.map(\.letter))
    messages = verification?.messages ?? letters.map(MessageProgress.init(letter:))
    failure = fields.failure(19, verification?.failure)
    timeline = try fields.timeline(21, verification?.timeline)
    // As a rule only the first requester has a handle.
    let handles: HandleSet? = verification.flatMap { $0.handles.isEmpty ? nil : $0.handles }
    self.handles = try fields.json(22, handles) ?? HandleSet()
    let variables = verification.flatMap { $0.variables.isEmpty ? nil : $0.variables }
    self.variables = try fields.json(23, variables) ?? [:]
  }
}

extension PhoneVerification.MessageProgress {
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

  fileprivate init(letter: UInt8) { self = Self.allCases.first { $0.letter == letter } ?? .unknown }
}
