import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

struct AppProofFlow: Flow {
  let rules: CoordinatorRules
  let hashes: KeyedHashes
  let sealer: Sealer
  let service: AppProofService

  var commands: [CommandKind] {
    [
      CommandKind(VerifyApp.self, isRefusedLate: true) { command, envelope, now throws(APIError) in
        try order(command, envelope, at: now)
      }
    ]
  }

  var reports: [ReportKind] {
    [
      ReportKind(onJob: PushVerifyJob.type, .push) { [service] receipt, report, result in
        var environment: String?
        if case .string(let text)? = result?.extras["environment"] { environment = JobReport.word(text) }
        return PushResult(
          receipt: receipt, report: PushReport(report: report, environment: environment), service: service)
      },
      .ignoredDelay(of: PushVerifyJob.type),
    ]
  }

  var dueRecords: [DueRecords] {
    [
      DueRecords(AppProofRecords.kind, part: .endOperations) { [service] record, set throws(StoreError) in
        try service.end(record, in: &set)
      },
      DueRecords(RevokedTokenRecords.kind, part: .endOperations) { [service] record, set throws(StoreError) in
        try service.goOn(record, in: &set)
      },
    ]
  }

  var operations: [OperationRecords] {
    [
      OperationRecords(AppProofRecords.kind) { [rules] record, now throws(StoreError) in
        var proof = try AppProof(record)
        // An expiry that the maintenance has not processed yet is shown here.
        _ = proof.apply(.deadlinePassed, at: now, under: rules.proof)
        return OperationStatus(proof)
      }
    ]
  }

  // MARK: app.verify

  private func order(_ command: VerifyApp, _ envelope: Envelope, at now: UnixTime) throws(APIError) -> AppOrder {
    guard envelope.replyTo != nil else { throw .missingReplyTo }
    let app = try rules.app(command.app)
    try rules.checkTrust(of: app, envelope)
    switch app.verification {
    case .off: throw .appNotVerified
    case .recaptcha: throw .pushNotOffered
    case .push, .audit, .trusted: break
    }
    let token = try Self.token(command.deviceToken)
    let address = try ClientAddress(of: command.client)
    let secret = KeyedHashes.makeSecret()
    let proof = proof(
      app, hashes.hash(deviceToken: token, app: app.id), command.environment ?? .unknown, secret, at: now)
    do {
      return AppOrder(
        proof: proof, address: address, job: try job(secret, of: proof, to: token, at: now), service: service)
    } catch {
      throw APIError(.internalError, "the secret cannot be sealed: check 'keysFile' of the coordinator")
    }
  }

  private func proof(
    _ app: AppProfile, _ token: TokenHash, _ environment: PushEnvironment, _ secret: Secret, at now: UnixTime
  ) -> AppProof {
    let receipt = VerificationID.make(at: now)
    return AppProof(
      receipt: receipt, app: app.id, tokenHash: token.current, earlierTokenHash: token.earlier,
      environment: environment,
      secret: hashes.keep(secret, receipt: receipt, app: app.id, tokenHash: token.current), at: now,
      under: rules.proof)
  }

  private func job(_ secret: Secret, of proof: AppProof, to deviceToken: String, at now: UnixTime) throws -> [UInt8] {
    let context = SealContext(
      messageType: PushVerifyJob.type, messageID: JobName(proof.receipt, .push).text, recipient: deviceToken)
    return try PushVerifyJob(
      app: proof.app, deviceToken: deviceToken, environment: proof.environment, receipt: proof.receipt,
      secret: try sealer.seal(secret, for: context), deadline: now + rules.proof.pushDeadline
    ).json()
  }

  /// The digits in lower case: apps send them in upper case, and Apple accepts both.
  private static func token(_ text: String) throws(APIError) -> String {
    guard !text.isEmpty else { throw .missingDeviceToken }
    let isToken =
      text.utf8.count <= maxTokenLength && text.utf8.count.isMultiple(of: 2) && text.utf8.allSatisfy(isDigit)
    guard isToken else { throw .malformedDeviceToken }
    return text.lowercased()
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
  }

  /// Apple says that tokens are of variable length. They have 64 digits today, and 100 bytes were announced.
  private static let maxTokenLength = 400
}

struct AppOrder: CommandOrder {
  let proof: AppProof
  let address: ClientAddress?
  /// The body of the push, its secret sealed.
  let job: [UInt8]
  let service: AppProofService

  var fingerprint: [UInt8] { fingerprint(isFormer: false) }

  /// Under the previous pepper while the configuration names it.
  func formerFingerprints() -> [[UInt8]] {
    proof.earlierTokenHash == nil ? [] : [fingerprint(isFormer: true)]
  }

  private func fingerprint(isFormer: Bool) -> [UInt8] {
    CommandFingerprint.hash(
      VerifyApp.type.text,
      [proof.app, proof.environment.rawValue, CommandFingerprint.text(proof.token, isFormer: isFormer)])
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try service.addFirstKeys(of: self, to: &keys, at: now)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    try service.issue(self, envelope, in: &set)
  }
}

struct PushResult: Report {
  let receipt: String
  let report: PushReport
  let service: AppProofService

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    service.proofs.addKeys(ofReceipt: receipt, to: &keys)
  }

  func apply(cause: Envelope, in set: inout WorkingSet) throws(StoreError) {
    try service.handle(report, on: receipt, cause: cause, in: &set)
  }
}
