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
struct VerificationTable: CarryOverTable {
  let table = "verification"
  /// It leads from the IDs of later handles to their verifications, which have them as well.
  let companions = ["verification_handle"]
  private let records: VerificationRecords
  private let conversions: Conversions
  private let retention: Duration

  init(_ rules: CoordinatorRules, _ conversions: Conversions) {
    self.conversions = conversions
    records = VerificationRecords(rules, conversions: conversions)
    retention = rules.retention
  }

  func keys(of row: EarlierRow, at now: UnixTime) throws(StoreError) -> StoreKeys {
    let verification = try PhoneVerification(row)
    var keys = StoreKeys()
    for handle in verification.handleNumbers { try records.addKeys(ofID: verification.id(of: handle), to: &keys) }
    if verification.state.isLive { try records.addKeys(ofLive: verification.key, to: &keys) }
    if let ending = ending(of: verification, at: now) { try conversions.addKeys(of: ending, to: &keys, at: now) }
    return keys
  }

  func put(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
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
struct AppProofTable: CarryOverTable {
  let table = "app_proof"
  private let records: AppProofRecords
  private let retention: Duration

  init(_ rules: CoordinatorRules) {
    records = AppProofRecords(rules)
    retention = rules.retention
  }

  func keys(of row: EarlierRow, at now: UnixTime) throws(StoreError) -> StoreKeys {
    var keys = StoreKeys()
    records.addKeys(ofReceipt: try row.text("receipt"), to: &keys)
    return keys
  }

  func put(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    let proof = try AppProof(row)
    if try records.found(proof.receipt, in: set) == nil { try records.put(proof, in: &set) }
  }

  func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool {
    try row.isOver(keptFor: retention, at: now)
  }
}

/// Device tokens that Apple has refused lately.
struct RefusedTokenTable: CarryOverTable {
  let table = "refused_token"
  private let records = RefusedTokenRecords()

  func keys(of row: EarlierRow, at now: UnixTime) throws(StoreError) -> StoreKeys {
    var keys = StoreKeys()
    try records.addKeys(of: token(of: row), environment(of: row), to: &keys)
    return keys
  }

  func put(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
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
struct AssessmentTable: CarryOverTable {
  let table = "assessment"
  private let records: AssessmentRecords
  private let retention: Duration

  init(_ rules: CoordinatorRules) {
    records = AssessmentRecords(rules)
    retention = rules.retention
  }

  func keys(of row: EarlierRow, at now: UnixTime) throws(StoreError) -> StoreKeys {
    let assessment = try Assessment(row)
    var keys = StoreKeys()
    records.addKeys(ofID: assessment.id, to: &keys)
    try records.addKeys(ofToken: TokenHash(assessment.tokenHash), to: &keys)
    try records.addKeys(ofMessage: assessment.envelope.identity, to: &keys)
    return keys
  }

  func put(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
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
struct RevocationTable: CarryOverTable {
  let table = "revocation"
  private let records: RevocationRecords
  private let retention: Duration

  init(_ policy: RevocationPolicy) {
    records = RevocationRecords(policy)
    retention = policy.retention
  }

  func keys(of row: EarlierRow, at now: UnixTime) throws(StoreError) -> StoreKeys {
    var keys = StoreKeys()
    records.addKeys(ofID: try row.text("id"), to: &keys)
    try records.addKeys(ofToken: TokenHash(row.blob("token_hash")), to: &keys)
    return keys
  }

  func put(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    let revocation = try Revocation(row)
    guard try records.revocation(revocation.id, in: set) == nil else { return }
    try records.add(revocation, of: TokenHash(revocation.tokenHash), in: &set)
  }

  func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool {
    try row.isOver(keptFor: retention, at: now)
  }
}

/// Blocks of prefixes and regions, also those that have ended lately: verifications from before their end do not count.
struct BlockTable: CarryOverTable {
  let table = "conversion_block"
  let records: ConversionRecords

  func keys(of row: EarlierRow, at now: UnixTime) throws(StoreError) -> StoreKeys {
    var keys = StoreKeys()
    records.addKeys(ofBlock: try row.text("key"), to: &keys)
    return keys
  }

  func put(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
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
struct OutageTable: CarryOverTable {
  let table = "conversion_outage"
  let records: ConversionRecords

  func keys(of row: EarlierRow, at now: UnixTime) throws(StoreError) -> StoreKeys {
    var keys = StoreKeys()
    try records.addOutages(to: &keys)
    return keys
  }

  func put(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    let outage = try ConversionOutage(row)
    let isKnown = try records.outages(in: set).contains { $0.since == outage.since }
    guard !isKnown, try !isOver(row, at: set.now) else { return }
    try records.put(outage, in: &set)
  }

  func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool {
    try row.time("until") + records.memory <= now
  }
}
