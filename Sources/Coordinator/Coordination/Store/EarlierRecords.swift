import CommandEngine
import CountersignMessages
import CountersignTelemetry

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
  /// - Throws: ``StoreError/Code/content`` for a row that this version cannot read.
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
  /// - Parameter letter: letter of an SMS in the column `messages`.
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
  /// - Throws: ``StoreError/Code/content`` for a row that this version cannot read.
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
  /// - Throws: ``StoreError/Code/content`` for a row that this version cannot read.
  init(_ row: EarlierRow) throws(StoreError) {
    self.init(
      id: try row.text("id"), messageID: try row.text("message_id"), tokenHash: try row.blob("token_hash"),
      verificationID: try row.optionalText("verification_id"), command: try StoredJSON.read(row.text("command")),
      createdAt: try row.time("created_at"), expiresAt: try row.time("expires_at"),
      state: try row.word("state", State.self))
  }
}

extension Revocation {
  /// - Throws: ``StoreError/Code/content`` for a row that this version cannot read.
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
  /// - Throws: ``StoreError/Code/content`` for a row that this version cannot read.
  init(_ row: EarlierRow) throws(StoreError) {
    self.init(
      scope: try row.word("scope", Scope.self), key: try row.text("key"), region: try row.text("region"),
      blockedAt: try row.time("blocked_at"), until: try row.time("until"), liftedAt: try row.optionalTime("lifted_at"),
      counts: ConversionCounts(sent: try row.int("sent"), verified: try row.int("verified")))
  }
}

extension ConversionOutage {
  /// - Throws: ``StoreError/Code/content`` for a row that this version cannot read.
  init(_ row: EarlierRow) throws(StoreError) {
    self.init(since: try row.time("since"), until: try row.time("until"))
  }
}
