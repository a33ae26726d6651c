import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// A validated `app.verify` request, with its new proof.
struct AppOrder: CommandOrder {
  var proof: AppProof
  var address: ClientAddress?
  /// The body of the push, its secret sealed.
  var job: [UInt8]
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

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try service.addKeys(of: self, to: &keys, at: now)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    try service.issue(self, envelope, in: &set)
  }
}

/// Parses `app.verify`, and does all work that needs no transaction.
struct AppOrderDecoder: Sendable {
  private let rules: CoordinatorRules
  private let hashes: KeyedHashes
  private let jobs: ProofJobs
  private let service: AppProofService

  init(_ rules: CoordinatorRules, hashes: KeyedHashes, jobs: ProofJobs, service: AppProofService) {
    self.rules = rules
    self.hashes = hashes
    self.jobs = jobs
    self.service = service
  }

  /// - Throws: the error for the requester.
  func order(_ command: VerifyApp, _ envelope: Envelope, at now: UnixTime) throws(APIError) -> AppOrder {
    guard envelope.replyTo != nil else { throw .missingReplyTo }
    guard !command.app.isEmpty else { throw .missingApp }
    guard let app = rules.apps[command.app] else { throw .unknownApp }
    switch app.verification {
    case .off: throw .appNotVerified
    case .recaptcha: throw .pushNotOffered
    case .push, .audit, .trusted: break
    }
    let token = try Self.token(command.deviceToken)
    let address = try ClientAddress(of: command.client)
    let secret = KeyedHashes.makeSecret()
    let hash = hashes.hash(deviceToken: token, app: app.id)
    let proof = proof(app, hash, command.environment ?? .unknown, secret, at: now)
    do {
      let job = try jobs.push(secret, of: proof, to: token, deadline: now + rules.proof.pushDeadline)
      return AppOrder(proof: proof, address: address, job: job, service: service)
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

  /// Apple says that tokens are of variable length; they have 64 digits today, and 100 bytes were announced.
  private static let maxTokenLength = 400
}
