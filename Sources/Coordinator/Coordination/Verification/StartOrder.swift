import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import PhoneNumbers

/// A start that the configuration permits.
struct StartOrder: Sendable {
  var app: AppProfile
  var number: PhoneNumber
  var languageCode: String?
  var address: ClientAddress?
  var claim = RequesterClaim()
  /// The fixed code of a fictional number.
  var fixedCode: String?
  /// Proof of its app; absent when there is nothing to judge.
  var proof: ProofOrder?
  /// The device that proved the app, once its proof has been judged.
  var device: TokenHash?
  /// A new verification, prepared outside the transaction in case the start needs one.
  var fresh: FreshVerification
  /// See ``VerificationCodes/fingerprint(of:)``.
  var fingerprint: [UInt8] = []
  /// Limits of its SMS, the device's apart; none for a fictional number. A failure is that of the transaction, which is
  /// logged.
  var limits: Result<[RateLimits.Check], StoreError> = .success([])
}

extension StartOrder {
  /// Requester, as far as it is known by now.
  var requester: Requester { claim.requester(device: device) }

  /// Key of the verification that the start requests.
  var key: VerificationKey {
    var key = fresh.verification.key
    if key.isTestNumber { key.requester = requester.hash }
    return key
  }

  /// The requested SMS, as the limits see it.
  var limitedSend: LimitedSend {
    LimitedSend(
      number: number.e164, region: number.regionKey, isUnknownType: number.type == .unknown, address: address)
  }
}

/// A verification that has not begun, with its first SMS ready to go.
struct FreshVerification: Sendable {
  var verification: PhoneVerification
  /// The body of the first job, sealed for it; absent for a fictional number.
  var firstJob: [UInt8]?
}

/// Reads starts and checks them against the configuration. Does no I/O.
struct StartDecoder: Sendable {
  private let rules: CoordinatorRules
  private let codes: VerificationCodes
  private let jobs: SMSJobs
  private let proofs: ProofDecoder
  private let requesters: KeyedHashes
  private let fictional: FictionalNumbers
  private let limits: RateLimits

  init(
    _ rules: CoordinatorRules, codes: VerificationCodes, jobs: SMSJobs, proofs: ProofDecoder, requesters: KeyedHashes,
    fictional: FictionalNumbers, limits: RateLimits
  ) {
    self.rules = rules
    self.codes = codes
    self.jobs = jobs
    self.proofs = proofs
    self.requesters = requesters
    self.fictional = fictional
    self.limits = limits
  }

  func order(
    _ command: StartVerification, _ envelope: Envelope, at now: UnixTime
  ) throws(APIError) -> StartOrder {
    let app = try rules.app(command.app)
    let number = try parse(command)
    let fixedCode = fictional.code(of: number.e164, app: app.id)
    if fixedCode == nil { try judge(number, app) }
    let languageCode = try LanguageTag.check(command.languageCode, field: "languageCode") ?? app.languageCode
    let address = try ClientAddress(of: command.client)
    let claim = try CommandFields.claim(of: command, at: address, requesters)
    let key = VerificationKey(
      phoneNumber: number.e164, app: app.id, purpose: command.purpose ?? .signIn,
      subject: try CommandFields.subject(of: command), isTestNumber: fixedCode != nil)
    let proof = fixedCode == nil ? try proofs.order(command, app, envelope) : nil
    var order = StartOrder(
      app: app, number: number, languageCode: languageCode, address: address, claim: claim, fixedCode: fixedCode,
      proof: proof,
      fresh: try fresh(
        app, key, region: number.regionKey, languageCode, fixedCode: fixedCode,
        askedLate: CommandAge.isLate(envelope.timestamp, at: now), at: now))
    order.fingerprint = codes.fingerprint(of: order)
    if fixedCode == nil { order.limits = limits(of: order) }
    return order
  }

  /// Resumes a start whose reCAPTCHA token has passed.
  func resume(
    _ waiting: WaitingStart, proof: AssessedCaptcha, at now: UnixTime
  ) throws(APIError) -> StartOrder {
    let app = try rules.app(waiting.app)
    let number = try parse(StartVerification(phoneNumber: waiting.phoneNumber, app: waiting.app))
    try judge(number, app)
    let key = VerificationKey(
      phoneNumber: number.e164, app: app.id, purpose: waiting.purpose ?? .signIn, subject: waiting.subject)
    var order = StartOrder(
      app: app, number: number, languageCode: waiting.languageCode,
      address: waiting.network.map(ClientAddress.init(network:)),
      claim: RequesterClaim(named: waiting.requester.map { Requester(hash: $0) }), fixedCode: nil,
      proof: ProofOrder(isBinding: true, evidence: .assessed(proof)),
      fresh: try fresh(
        app, key, region: number.regionKey, waiting.languageCode, fixedCode: nil,
        askedLate: waiting.askedLate ?? false, at: now),
      fingerprint: waiting.fingerprint)
    order.limits = limits(of: order)
    return order
  }

  private func limits(of order: StartOrder) -> Result<[RateLimits.Check], StoreError> {
    Result { () throws(StoreError) in try limits.checks(of: order.limitedSend) }
  }

  func parse(_ command: StartVerification) throws(APIError) -> PhoneNumber {
    guard !command.phoneNumber.isEmpty else { throw .missingPhoneNumber }
    let number: PhoneNumber
    do {
      number = try PhoneNumber.parse(command.phoneNumber, region: command.region.flatMap { $0.isEmpty ? nil : $0 })
        .applying(rules.numberOverrides)
    } catch {
      throw APIError(.invalidPhoneNumber, "the phone number cannot be read: \(error)", field: "phoneNumber")
    }
    guard number.isPossible else {
      throw APIError(
        .invalidPhoneNumber, "no phone number of its country is like this one: check its length", field: "phoneNumber")
    }
    return number
  }

  private func judge(_ number: PhoneNumber, _ app: AppProfile) throws(APIError) {
    guard app.verification != .off else { throw .appNotVerified }
    guard !rules.regions.refuses(number.type) else { throw .numberTypeRefused }
    guard rules.regions.allows(number.regionKey) else { throw .regionNotAllowed }
  }

  private func fresh(
    _ app: AppProfile, _ key: VerificationKey, region: String, _ languageCode: String?, fixedCode: String?,
    askedLate: Bool, at now: UnixTime
  ) throws(APIError) -> FreshVerification {
    let random = SecureRandom.bytes(VerificationID.randomBytes + VerificationCodes.seedLength)
    let id = VerificationID.text(at: now, random[..<VerificationID.randomBytes])
    func make(_ atRest: CodeAtRest) -> PhoneVerification {
      PhoneVerification(
        id: id, key, region: region, languageCode: languageCode, code: atRest, askedLate: askedLate, at: now,
        under: rules.policy)
    }
    if let fixedCode {
      return FreshVerification(verification: make(codes.keep(fixedCode: fixedCode, for: id)), firstJob: nil)
    }
    let (code, atRest) = codes.makeCode(for: id, seed: Array(random[VerificationID.randomBytes...]))
    let verification = make(atRest)
    do {
      return FreshVerification(
        verification: verification, firstJob: try jobs.body(of: verification, message: 1, code: code, app: app))
    } catch {
      throw APIError(.internalError, "the code cannot be sealed: check 'keysFile' of the coordinator")
    }
  }
}
