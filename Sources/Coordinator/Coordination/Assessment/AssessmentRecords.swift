import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

struct AssessmentRecords: Sendable {
  static let kind = RecordKind("assessment")
  /// The assessment of a reCAPTCHA token, pending or over: a second use of the token is recognized.
  private static let tokens = KeySpace(kind, "token")
  private static let messages = KeySpace(kind, "message")
  private static let numbers = KeySpace(kind, "number")

  private let retention: Duration

  init(_ rules: CoordinatorRules) {
    retention = rules.retention
  }

  // MARK: Keys

  func addKeys(ofToken token: TokenHash, to keys: inout StoreKeys) throws(StoreError) {
    for hash in token.all { keys.add(holderOf: try UniqueKey(Self.tokens, hash)) }
  }

  func addKeys(ofMessage message: MessageIdentity, to keys: inout StoreKeys) throws(StoreError) {
    keys.add(holderOf: try Self.key(of: message))
  }

  private static func key(of message: MessageIdentity) throws(StoreError) -> UniqueKey {
    let parts = [Array(message.sender.utf8), Array(message.messageID.utf8)]
    return try UniqueKey(messages, SHA256.hash(VerificationCodes.framed("countersign waiting message", parts)))
  }

  private static func key(ofNumber number: String) throws(StoreError) -> GroupKey {
    try GroupKey(
      numbers, SHA256.hash(VerificationCodes.framed("countersign assessed number", [Array(number.utf8)])))
  }

  // MARK: Look-ups

  func found(_ id: String, in set: WorkingSet) throws(StoreError) -> Assessment? {
    try set.record(Self.kind, id).map { record throws(StoreError) in try Assessment(record) }
  }

  func waiting(_ message: MessageIdentity, in set: WorkingSet) throws(StoreError) -> Assessment? {
    guard let record = try set.holder(of: Self.key(of: message)) else { return nil }
    return try Assessment(record)
  }

  func hasSeen(_ token: TokenHash, in set: WorkingSet) throws(StoreError) -> Bool {
    for hash in token.all where try set.holder(of: UniqueKey(Self.tokens, hash)) != nil { return true }
    return false
  }

  // MARK: Changes

  /// A pending start still needs its caller's data. A finished one only answers for its token, and is kept for a while
  /// to recognize that.
  func put(_ assessment: Assessment, isNew: Bool = false, in set: inout WorkingSet) throws(StoreError) {
    let id = try RecordID(stored: Self.kind, assessment.id)
    let token = try UniqueKey(Self.tokens, assessment.tokenHash)
    guard assessment.state == .pending else {
      let deletion = set.now + retention
      return try set.store(
        id, assessment.withoutCommand, dueAt: deletion, discardAt: deletion, uniqueKeys: [token])
    }
    try set.store(
      id, assessment, isNew: isNew, dueAt: assessment.expiresAt, discardAt: assessment.expiresAt + retention,
      uniqueKeys: [token] + waitingKeys(of: assessment, id, in: set),
      groupKeys: [Self.key(ofNumber: assessment.command.phoneNumber)])
  }

  /// Key of the command that waits for an assessment, if one does, and waits for no other.
  private func waitingKeys(
    of assessment: Assessment, _ id: RecordID, in set: WorkingSet
  ) throws(StoreError) -> [UniqueKey] {
    guard assessment.verificationID == nil else { return [] }
    let key = try Self.key(of: assessment.envelope.identity)
    let holder = try set.holder(of: key)
    return holder == nil || holder?.id == id ? [key] : []
  }

  /// Deletes a page of the pending assessments of a number. The others hold none.
  /// - Returns: their count, and the ID behind which the next page begins, if there is one.
  func remove(
    _ scope: ErasureScope, behind id: String, in set: inout WorkingSet
  ) throws(StoreError) -> (removed: Int, next: String?) {
    let (records, isLast) = try set.group(Self.key(ofNumber: scope.number), StoreKeys.GroupPage(behind: id))
    let included = records.filter { scope.includes(try? Assessment($0)) }
    for record in included { try set.remove(record.id) }
    return (included.count, isLast ? nil : records.last?.id.text)
  }
}

extension Assessment: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ assessment: Self?) throws(UnreadableFields) {
    id = record.id.text
    messageID = try fields.required(1, assessment?.messageID)
    tokenHash = try fields.required(2, assessment?.tokenHash)
    verificationID = fields.optional(3, assessment?.verificationID)
    command = try FieldCoder.present(fields.json(4, assessment?.command))
    createdAt = try fields.required(5, assessment?.createdAt)
    expiresAt = try fields.required(6, assessment?.expiresAt)
    state = try fields.required(7, assessment?.state)
  }
}
