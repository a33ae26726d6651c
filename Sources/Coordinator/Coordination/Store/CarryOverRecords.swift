import CommandEngine
import CountersignMessages
import CountersignTelemetry

extension EarlierRow {
  /// Whether its end, or the last time at which it can end, is a retention ago.
  fileprivate func isOver(keptFor retention: Duration, at now: UnixTime) throws(StoreError) -> Bool {
    let end: UnixTime
    if let endedAt = try optionalTime("ended_at") { end = endedAt } else { end = try time("expires_at") }
    return end + retention <= now
  }
}

/// Verifications. Those that ended lately are counted again: their windows were in memory only.
struct VerificationTable: EarlierCarrier {
  let table = "verification"
  /// It leads from the IDs of later handles to their verifications, which have them as well.
  let companions = ["verification_handle"]
  let records: VerificationRecords
  let conversions: Conversions
  let retention: Duration

  func addKeys(of row: EarlierRow, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    let verification = try PhoneVerification(row)
    for handle in verification.handleNumbers { try records.addKeys(ofID: verification.id(of: handle), to: &keys) }
    if verification.state.isLive { try records.addKeys(ofLive: verification.key, to: &keys) }
    if let ending = ending(of: verification, at: now) { try conversions.addKeys(of: ending, to: &keys, at: now) }
  }

  func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    let verification = try PhoneVerification(row)
    guard try records.verification(verification.id, in: set) == nil else { return }
    // Without a change nothing is counted.
    try records.put(verification, before: verification, in: &set)
    if let ending = ending(of: verification, at: set.now) { try conversions.recount(ending, in: &set) }
  }

  /// The ending of a verification, if it is within the window of the conversion.
  private func ending(of verification: PhoneVerification, at now: UnixTime) -> ConversionEnding? {
    ConversionEnding(verification).flatMap { $0.endedAt > now - conversions.policy.window ? $0 : nil }
  }

  func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool {
    try row.isOver(keptFor: retention, at: now)
  }
}

/// Receipts of apps.
struct AppProofTable: EarlierCarrier {
  let table = "app_proof"
  let records: AppProofRecords
  let retention: Duration

  func addKeys(of row: EarlierRow, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    records.addKeys(ofReceipt: try row.text("receipt"), to: &keys)
  }

  func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    let proof = try AppProof(row)
    if try records.found(proof.receipt, in: set) == nil { try records.put(proof, in: &set) }
  }

  func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool {
    try row.isOver(keptFor: retention, at: now)
  }
}

/// Device tokens that Apple has refused lately.
struct RefusedTokenTable: EarlierCarrier {
  let table = "refused_token"
  let records = RefusedTokenRecords()

  func addKeys(of row: EarlierRow, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try records.addKeys(of: token(of: row), environment(of: row), to: &keys)
  }

  func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    let (token, environment) = (try token(of: row), try environment(of: row))
    guard try !isOver(row, at: set.now), try records.refusal(of: token, environment, in: set) == nil else { return }
    try records.remember(
      VerificationFailure(code: row.text("code"), detail: row.optionalText("detail")), of: token.current, environment,
      until: row.time("expires_at"), in: &set)
  }

  private func token(of row: EarlierRow) throws(StoreError) -> TokenHash { TokenHash(try row.blob("token_hash")) }

  private func environment(of row: EarlierRow) throws(StoreError) -> PushEnvironment {
    try row.word("environment", PushEnvironment.self)
  }

  func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool { try row.time("expires_at") <= now }
}

/// Assessments of reCAPTCHA tokens, and the starts that wait for them.
struct AssessmentTable: EarlierCarrier {
  let table = "assessment"
  let records: AssessmentRecords
  let retention: Duration

  func addKeys(of row: EarlierRow, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    let assessment = try Assessment(row)
    records.addKeys(ofID: assessment.id, to: &keys)
    try records.addKeys(ofToken: TokenHash(assessment.tokenHash), to: &keys)
    try records.addKeys(ofMessage: assessment.envelope.identity, to: &keys)
  }

  func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    let assessment = try Assessment(row)
    // A finished one is kept for a while from now on, unless it is due to be deleted.
    let dueAt = try row.time("due_at")
    guard assessment.state == .pending || dueAt > set.now else { return }
    if try records.found(assessment.id, in: set) == nil { try records.put(assessment, in: &set) }
  }

  func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool {
    try row.time("expires_at") + retention <= now
  }
}

/// Revocations of tokens of Sign in with Apple, in the order in which they began: the latest of a token has its key.
struct RevocationTable: EarlierCarrier {
  let table = "revocation"
  let records: RevocationRecords
  let retention: Duration

  func addKeys(of row: EarlierRow, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    records.addKeys(ofID: try row.text("id"), to: &keys)
    try records.addKeys(ofToken: TokenHash(row.blob("token_hash")), to: &keys)
  }

  func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    let revocation = try Revocation(row)
    guard try records.revocation(revocation.id, in: set) == nil else { return }
    try records.add(revocation, of: TokenHash(revocation.tokenHash), in: &set)
  }

  func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool {
    try row.isOver(keptFor: retention, at: now)
  }
}

/// Blocks of prefixes and regions, also those that have ended lately: verifications from before their end do not count.
struct BlockTable: EarlierCarrier {
  let table = "conversion_block"
  let records: ConversionRecords

  func addKeys(of row: EarlierRow, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    records.addKeys(ofBlock: try row.text("key"), to: &keys)
  }

  func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    let block = try ConversionBlock(row)
    guard try !isOver(row, at: set.now), try records.block(block.key, in: set) == nil else { return }
    try records.put(block, in: &set)
  }

  func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool {
    let end: UnixTime
    if let liftedAt = try row.optionalTime("lifted_at") { end = liftedAt } else { end = try row.time("until") }
    return end + records.memory <= now
  }
}

/// Outages, during which codes could not come back.
struct OutageTable: EarlierCarrier {
  let table = "conversion_outage"
  let records: ConversionRecords

  func addKeys(of row: EarlierRow, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try records.addOutages(to: &keys)
  }

  func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    let outage = try ConversionOutage(row)
    let isKnown = try records.outages(in: set).contains { $0.since == outage.since }
    guard !isKnown, try !isOver(row, at: set.now) else { return }
    try records.put(outage, in: &set)
  }

  func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool {
    try row.time("until") + records.memory <= now
  }
}

// Rows of the tables of version 13, read by the names of their columns. A row of an earlier version has all of them: the
// migrations run first.

extension EarlierRow {
  /// The reason with its code in one column and its text in another.
  func failure() throws(StoreError) -> VerificationFailure? {
    guard let code = try optionalText("failure_code") else { return nil }
    return VerificationFailure(code: code, detail: try optionalText("failure_detail"))
  }

  func timeline() throws(StoreError) -> Timeline { Timeline(text: try text("timeline")) }
}

extension PhoneVerification {
  init(_ row: EarlierRow) throws(StoreError) {
    guard let code = CodeAtRest(blob: try row.blob("code")) else {
      throw StoreError(.content, "the code of an earlier verification cannot be read")
    }
    self.code = code
    id = try row.text("id")
    app = try row.text("app")
    phoneNumber = try row.text("phone_number")
    region = try row.text("region")
    isTestNumber = try row.bool("is_test")
    purpose = try row.word("purpose", VerificationPurpose.self)
    let subject = try row.text("subject")
    self.subject = subject.isEmpty ? nil : subject
    createdAt = try row.time("created_at")
    askedLate = try row.bool("asked_late")
    requester = try row.blob("requester")
    // Rows before version 13 know the requester only.
    source = try row.optionalBlob("source") ?? requester
    state = try row.word("state", VerificationState.self)
    languageCode = try row.optionalText("language")
    expiresAt = try row.time("expires_at")
    resendAfter = try row.time("resend_after")
    endedAt = try row.optionalTime("ended_at")
    checks = try row.int("checks")
    messages = try row.text("messages").map(MessageProgress.init(ofEarlier:))
    failure = try row.failure()
    timeline = try row.timeline()
    if let handles = try row.optionalText("handles") { self.handles = try StoredJSON.read(handles) }
  }
}

extension PhoneVerification.MessageProgress {
  fileprivate init(ofEarlier letter: Character) {
    self =
      switch letter {
      case "o": .outstanding
      case "a": .accepted
      case "r": .refused
      case "x": .expired
      case "d": .delivered
      case "n": .undelivered
      default: .unknown
      }
  }
}

extension AppProof {
  init(_ row: EarlierRow) throws(StoreError) {
    guard let secret = SecretAtRest(blob: try row.blob("secret")) else {
      throw StoreError(.content, "the secret of an earlier receipt cannot be read")
    }
    self.secret = secret
    receipt = try row.text("receipt")
    app = try row.text("app")
    tokenHash = try row.blob("token_hash")
    earlierTokenHash = try row.optionalBlob("earlier_token_hash")
    environment = try row.word("environment", PushEnvironment.self)
    createdAt = try row.time("created_at")
    state = try row.word("state", AppProofState.self)
    expiresAt = try row.time("expires_at")
    endedAt = try row.optionalTime("ended_at")
    uses = try row.int("uses")
    push = try row.word("push", PhoneVerification.MessageProgress.self)
    failure = try row.failure()
    timeline = try row.timeline()
  }
}

extension Assessment {
  init(_ row: EarlierRow) throws(StoreError) {
    self.init(
      id: try row.text("id"), messageID: try row.text("message_id"), tokenHash: try row.blob("token_hash"),
      verificationID: try row.optionalText("verification_id"), command: try StoredJSON.read(row.text("command")),
      createdAt: try row.time("created_at"), expiresAt: try row.time("expires_at"),
      state: try row.word("state", State.self))
  }
}

extension Revocation {
  init(_ row: EarlierRow) throws(StoreError) {
    id = try row.text("id")
    app = try row.text("app")
    tokenHash = try row.blob("token_hash")
    createdAt = try row.time("created_at")
    if let text = try row.optionalText("notice") { notice = try StoredJSON.read(text) }
    state = try row.word("state", State.self)
    expiresAt = try row.time("expires_at")
    endedAt = try row.optionalTime("ended_at")
    ending = try row.optionalText("ending").map(OperationEnding.init(rawValue:))
    failure = try row.failure()
    timeline = try row.timeline()
  }
}

extension ConversionBlock {
  init(_ row: EarlierRow) throws(StoreError) {
    self.init(
      scope: try row.word("scope", Scope.self), key: try row.text("key"), region: try row.text("region"),
      blockedAt: try row.time("blocked_at"), until: try row.time("until"), liftedAt: try row.optionalTime("lifted_at"),
      counts: ConversionCounts(sent: try row.int("sent"), verified: try row.int("verified")))
  }
}

extension ConversionOutage {
  init(_ row: EarlierRow) throws(StoreError) {
    self.init(since: try row.time("since"), until: try row.time("until"))
  }
}
