import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import PhoneNumbers

/// `verification.start`, as the configuration permits it: starts a verification, or continues the live one of its
/// number.
struct StartOrder: CommandOrder {
  let app: AppProfile
  let number: PhoneNumber
  var languageCode: String?
  /// Values of the template's own variables.
  var variables: [String: String] = [:]
  var address: ClientAddress?
  let claim: RequesterClaim
  var fixedCode: String?
  /// Absent when there is nothing to judge.
  var proof: ProofOrder?
  var device: TokenHash?
  /// A new verification, prepared outside the transaction in case the start needs one.
  let fresh: FreshVerification
  /// Absent for one whose proof was assessed meanwhile.
  var identity: StartIdentity?
  var fingerprint: [UInt8] = []
  /// Limits of its SMS, the device's apart. None for a fictional number. A failure is that of the transaction, which is
  /// logged.
  var limits: Result<[RateLimits.Check], StoreError> = .success([])
  let key: VerificationKey
  /// The same, as the record of a live one holds it.
  let liveKey: Result<UniqueKey, StoreError>
  /// `nil` for a command whose proof was assessed meanwhile.
  let message: MessageIdentity?
  private let service: VerificationService

  init(
    _ app: AppProfile, _ number: PhoneNumber, _ key: VerificationKey, _ fresh: FreshVerification,
    _ claim: RequesterClaim, message: MessageIdentity?, _ service: VerificationService
  ) {
    self.app = app
    self.number = number
    self.fresh = fresh
    self.claim = claim
    self.message = message
    self.service = service
    // Fictional numbers have no proof, so their requester is known.
    var key = key
    if key.isTestNumber { key.requester = claim.requester(device: nil).hash }
    self.key = key
    liveKey = Result { () throws(StoreError) in try VerificationRecords.key(ofLive: key) }
  }

  func formerFingerprints() -> [[UInt8]] { identity.map(service.codes.formerFingerprints) ?? [] }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    keys.add(holderOf: try liveKey.get())
    guard fixedCode == nil else { return }
    let send = limitedSend
    service.conversions.addKeys(ofPrefix: send.prefix, region: send.region, to: &keys)
    service.limits.addKeys(of: try limits.get(), to: &keys, at: now)
    if let proof { try service.gate.addFirstKeys(of: proof, self, to: &keys, at: now) }
  }

  func addMoreKeys(to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {
    if let proof { try service.gate.addMoreKeys(of: proof, to: &keys, from: set) }
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    try service.startProven(self, envelope, in: &set)
  }

  func arriveAgain(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> Bool {
    try service.gate.arriveAgain(envelope, in: &set)
  }

  var requester: Requester { claim.requester(device: device) }

  var limitedSend: LimitedSend {
    LimitedSend(
      number: number.e164, region: number.regionKey, isUnknownType: number.type == .unknown, address: address)
  }
}

struct FreshVerification: Sendable {
  var verification: PhoneVerification
  /// Absent for a fictional number.
  var firstJob: [UInt8]?
}

/// Does no I/O.
struct StartDecoder: Sendable {
  private let service: VerificationService
  private let proofs: ProofDecoder
  private let requesters: KeyedHashes
  private let fictional: FictionalNumbers
  private let rules: CoordinatorRules

  init(
    _ service: VerificationService, proofs: ProofDecoder, requesters: KeyedHashes, fictional: FictionalNumbers
  ) {
    self.service = service
    self.proofs = proofs
    self.requesters = requesters
    self.fictional = fictional
    rules = service.rules
  }

  func order(
    _ command: StartVerification, _ envelope: Envelope, at now: UnixTime
  ) throws(APIError) -> any CommandOrder {
    let app = try rules.app(command.app)
    let purpose = command.purpose ?? .signIn
    try rules.checkTrust(of: app, envelope, isOfFactor: purpose.isSecondFactor)
    guard !purpose.hasSubject || rules.mayUseSubjects(envelope) else { throw .subjectOverHTTP }
    let number = try parse(command)
    let fixedCode = fictional.code(of: number.e164, app: app.id)
    let address = try ClientAddress(of: command.client)
    let languageCode = try LanguageTag.check(command.languageCode, field: "languageCode") ?? app.languageCode
    let claim = try CommandFields.claim(of: command, at: address, requesters)
    let key = VerificationKey(
      phoneNumber: number.e164, app: app.id, purpose: purpose,
      subject: try CommandFields.subject(of: command), isTestNumber: fixedCode != nil)
    let variables = try CommandFields.variables(of: command, app)
    let identity = StartIdentity(
      key: key, claim: claim, action: command.proof?.recaptchaAction ?? "", variables: variables)
    var proof: ProofOrder?
    if fixedCode == nil {
      do throws(APIError) {
        try judge(number, app)
        if !rules.vouchesForCallers(envelope, purpose) { proof = try proofs.order(command, app, envelope, at: now) }
      } catch {
        // Without an address for the reply it is a dead letter, and reveals no number.
        guard envelope.replyTo != nil else { throw error }
        return RefusedStart(
          error: error, address: address, identity: identity, service: service)
      }
    }
    var order = StartOrder(
      app, number, key,
      try fresh(
        app, key, region: number.regionKey, languageCode, variables, fixedCode: fixedCode,
        askedLate: CommandAge.isLate(envelope.timestamp, at: now), at: now),
      claim, message: envelope.identity, service)
    order.languageCode = languageCode
    order.variables = variables
    order.address = address
    order.fixedCode = fixedCode
    order.proof = proof
    order.identity = identity
    order.fingerprint = service.codes.fingerprint(of: identity)
    if fixedCode == nil { order.limits = limits(of: order) }
    return order
  }

  func resume(
    _ waiting: WaitingStart, proof: AssessedCaptcha, at now: UnixTime
  ) throws(APIError) -> StartOrder {
    let app = try rules.app(waiting.app)
    let number = try parse(StartVerification(phoneNumber: waiting.phoneNumber, app: waiting.app))
    try judge(number, app)
    let key = VerificationKey(
      phoneNumber: number.e164, app: app.id, purpose: waiting.purpose, subject: waiting.subject)
    var order = StartOrder(
      app, number, key,
      try fresh(
        app, key, region: number.regionKey, waiting.languageCode, waiting.variables ?? [:], fixedCode: nil,
        askedLate: waiting.askedLate, at: now),
      RequesterClaim(named: waiting.requester.map { Requester(hash: $0) }), message: nil, service)
    order.languageCode = waiting.languageCode
    order.variables = waiting.variables ?? [:]
    order.address = waiting.network.map(ClientAddress.init(network:))
    order.proof = ProofOrder(isBinding: true, evidence: .assessed(proof))
    order.fingerprint = waiting.fingerprint
    order.limits = limits(of: order)
    return order
  }

  private func limits(of order: StartOrder) -> Result<[RateLimits.Check], StoreError> {
    Result { () throws(StoreError) in try service.limits.checks(of: order.limitedSend) }
  }

  /// A number that a command names without an app.
  func e164(_ phoneNumber: String) throws(APIError) -> String {
    try parse(StartVerification(phoneNumber: phoneNumber, app: "")).e164
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
    _ app: AppProfile, _ key: VerificationKey, region: String, _ languageCode: String?,
    _ variables: [String: String], fixedCode: String?, askedLate: Bool, at now: UnixTime
  ) throws(APIError) -> FreshVerification {
    let random = SecureRandom.bytes(VerificationID.randomBytes + VerificationCodes.seedLength)
    let id = VerificationID.text(at: now, random[..<VerificationID.randomBytes])
    func make(_ atRest: CodeAtRest) -> PhoneVerification {
      var verification = PhoneVerification(
        id: id, key, region: region, languageCode: languageCode, code: atRest, askedLate: askedLate, at: now,
        under: rules.policy)
      verification.variables = variables
      return verification
    }
    if let fixedCode {
      return FreshVerification(verification: make(service.codes.keep(fixedCode: fixedCode, for: id)), firstJob: nil)
    }
    let (code, atRest) = service.codes.makeCode(for: id, seed: Array(random[VerificationID.randomBytes...]))
    let verification = make(atRest)
    do {
      return FreshVerification(
        verification: verification,
        firstJob: try service.jobs.body(of: verification, message: 1, code: code, app: app))
    } catch {
      throw APIError(.internalError, "the code cannot be sealed: check 'keysFile' of the coordinator")
    }
  }
}

// MARK: - Fingerprints

// They are keyed: a plain hash would reveal a number or a code to a quick search. The former ones are made only if the
// present one differs: the first delivery of a message needs none of them.
extension VerificationCodes {
  func fingerprint(of start: StartIdentity) -> [UInt8] {
    keyed([start.plainFingerprint(isFormer: false)], under: current)
  }

  /// Under the previous pepper while the configuration names it.
  func formerFingerprints(of start: StartIdentity) -> [[UInt8]] {
    previous.map { [keyed([start.plainFingerprint(isFormer: true)], under: $0)] } ?? []
  }

  func keyed(_ parts: [[UInt8]], under pepper: Pepper) -> [UInt8] {
    pepper.key.authenticate(Self.framed("countersign message", parts))
  }
}

/// The parts of a start by which it is known again, whether it is carried out or refused by now.
struct StartIdentity: Sendable {
  let key: VerificationKey
  let claim: RequesterClaim
  /// Action that the app passed to reCAPTCHA. Empty without one.
  let action: String
  /// Values of the template's own variables.
  let variables: [String: String]

  fileprivate func plainFingerprint(isFormer: Bool) -> [UInt8] {
    CommandFingerprint.hash(
      StartVerification.type.text,
      [
        key.app, key.phoneNumber, key.purpose.rawValue, key.subject ?? "",
        Base64URL.encode(claim.text(isFormer: isFormer)), action,
      ] + variables.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] })
  }
}
