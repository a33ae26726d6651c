import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import PhoneNumbers

/// Reads commands and checks them against the configuration. Does no I/O: all slow work that needs no transaction
/// happens here.
struct CommandPreparer: Sendable {
  private let rules: CoordinatorRules
  private let keeper: CodeKeeper
  private let jobs: SMSJobMaker
  private let keys: KeyRing
  private let proofs: ProofPreparer
  private let requesters: ProofKeeper
  private let apps: AppPreparer
  private let revocations: RevocationPreparer
  private let conversions: ConversionKeeper
  private let fictional: FictionalNumbers

  init(
    _ rules: CoordinatorRules, keeper: CodeKeeper, jobs: SMSJobMaker, keys: KeyRing, operations: OperationKit,
    conversions: ConversionKeeper, fictional: FictionalNumbers? = nil
  ) {
    self.rules = rules
    self.fictional = fictional ?? FictionalNumbers(rules)
    self.keeper = keeper
    self.jobs = jobs
    self.keys = keys
    requesters = operations.keeper
    proofs = ProofPreparer(keeper: operations.keeper, keys: keys)
    apps = AppPreparer(rules, keeper: operations.keeper, jobs: operations.proofJobs)
    revocations = RevocationPreparer(
      rules, keeper: operations.keeper, jobs: operations.revocationJobs, keys: keys)
    self.conversions = conversions
  }

  static let types = [
    StartVerification.type, CheckVerification.type, GetVerificationStatus.type, CancelVerification.type,
    VerifyApp.type, StartRevocation.type, GetOperationStatus.type, ListConversions.type, LiftConversionBlock.type,
    ForgetNumber.type,
  ]

  /// - Throws: the error for the requester.
  func prepare(_ envelope: Envelope, body: [UInt8], at now: UnixTime) throws(APIError) -> CommandRequest {
    let order: CommandRequest.Order =
      switch envelope.type {
      case StartVerification.type:
        .start(try start(decode(StartVerification.self, body), envelope, at: now))
      case CheckVerification.type:
        try check(decode(CheckVerification.self, body), envelope)
      case GetVerificationStatus.type:
        .status(verificationID: try decode(GetVerificationStatus.self, body).verificationID)
      case CancelVerification.type:
        .cancel(verificationID: try decode(CancelVerification.self, body).verificationID)
      case VerifyApp.type:
        .verifyApp(try apps.order(decode(VerifyApp.self, body), envelope, at: now))
      case StartRevocation.type:
        .revoke(try revocations.order(decode(StartRevocation.self, body), envelope, at: now))
      case GetOperationStatus.type:
        .operationStatus(operationID: try decode(GetOperationStatus.self, body).operationID)
      case ListConversions.type:
        .conversions(
          conversions.worst(limit: try limit(decode(operatorsOnly(ListConversions.self, envelope), body)), at: now))
      case LiftConversionBlock.type:
        .liftBlock(key: try decode(operatorsOnly(LiftConversionBlock.self, envelope), body).key)
      case ForgetNumber.type:
        .forget(number: try number(decode(operatorsOnly(ForgetNumber.self, envelope), body)))
      default:
        throw APIError(ContractProblem(.unknownType, field: "type", "is not a command"))
      }
    return CommandRequest(envelope: envelope, fingerprint: keeper.fingerprint(of: order), order: order)
  }

  /// The broker has verified the sender.
  private func operatorsOnly<C: Command>(_ type: C.Type, _ envelope: Envelope) throws(APIError) -> C.Type {
    guard let user = envelope.userID, rules.operators.contains(user) else { throw .notAnOperator }
    return type
  }

  private func number(_ command: ForgetNumber) throws(APIError) -> String {
    try parse(StartVerification(phoneNumber: command.phoneNumber, app: "")).e164
  }

  private func limit(_ command: ListConversions) throws(APIError) -> Int {
    let limit = command.limit ?? ListConversions.defaultLimit
    guard (1...ListConversions.maxLimit).contains(limit) else {
      throw APIError(.invalidArgument, "must be from 1 to \(ListConversions.maxLimit)", field: "limit")
    }
    return limit
  }

  private func decode<Body: MessageBody>(_ type: Body.Type, _ body: [UInt8]) throws(APIError) -> Body {
    do {
      return try Body(json: body)
    } catch {
      guard error.code == .missingField else { throw APIError(error) }
      switch error.field {
      case "phoneNumber": throw .missingPhoneNumber
      case "app": throw .missingApp
      case "deviceToken": throw .missingDeviceToken
      default: throw APIError(error)
      }
    }
  }

  // MARK: Start

  private func start(
    _ command: StartVerification, _ envelope: Envelope, at now: UnixTime
  ) throws(APIError) -> StartOrder {
    guard !command.app.isEmpty else { throw .missingApp }
    guard let app = rules.apps[command.app] else { throw .unknownApp }
    let number = try parse(command)
    let fixedCode = fictional.code(of: number.e164, app: app.id)
    if fixedCode == nil { try judge(number, app) }
    let languageCode = try LanguageTag.check(command.languageCode, field: "languageCode") ?? app.languageCode
    let address = try ClientAddress(of: command.client)
    let claim = try CommandFields.claim(of: command, at: address, requesters)
    let key = VerificationKey(
      phoneNumber: number.e164, app: app.id, purpose: command.purpose ?? .signIn,
      subject: try CommandFields.subject(of: command))
    let proof = fixedCode == nil ? try proofs.order(command, app, envelope) : nil
    return StartOrder(
      app: app, number: number, languageCode: languageCode, address: address, claim: claim, fixedCode: fixedCode,
      proof: proof,
      fresh: try fresh(
        app, number, key, languageCode, fixedCode: fixedCode,
        askedLate: CommandAge.isLate(envelope.timestamp, at: now), at: now))
  }

  /// Resumes a start whose reCAPTCHA token has passed.
  func resume(
    _ waiting: WaitingStart, proof: AssessedCaptcha, at now: UnixTime
  ) throws(APIError) -> StartOrder {
    guard let app = rules.apps[waiting.app] else { throw .unknownApp }
    let number = try parse(StartVerification(phoneNumber: waiting.phoneNumber, app: waiting.app))
    try judge(number, app)
    let key = VerificationKey(
      phoneNumber: number.e164, app: app.id, purpose: waiting.purpose ?? .signIn, subject: waiting.subject)
    return StartOrder(
      app: app, number: number, languageCode: waiting.languageCode,
      address: waiting.network.map(ClientAddress.init(network:)),
      claim: RequesterClaim(named: waiting.requester.map { Requester(hash: $0) }), fixedCode: nil,
      proof: ProofOrder(isBinding: true, evidence: .assessed(proof)),
      fresh: try fresh(
        app, number, key, waiting.languageCode, fixedCode: nil, askedLate: waiting.askedLate ?? false, at: now))
  }

  private func parse(_ command: StartVerification) throws(APIError) -> PhoneNumber {
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
    _ app: AppProfile, _ number: PhoneNumber, _ key: VerificationKey, _ languageCode: String?, fixedCode: String?,
    askedLate: Bool, at now: UnixTime
  ) throws(APIError) -> FreshVerification {
    let random = SecureRandom.bytes(VerificationID.randomBytes + CodeKeeper.seedLength)
    let id = VerificationID.text(at: now, random[..<VerificationID.randomBytes])
    func make(_ atRest: CodeAtRest) -> PhoneVerification {
      PhoneVerification(
        id: id, app: app.id, phoneNumber: number.e164, region: number.regionKey, languageCode: languageCode,
        isTestNumber: fixedCode != nil, purpose: key.purpose, subject: key.subject, code: atRest, askedLate: askedLate,
        at: now, under: rules.policy)
    }
    if let fixedCode {
      return FreshVerification(verification: make(keeper.keep(fixedCode: fixedCode, for: id)), firstJob: nil)
    }
    let (code, atRest) = keeper.makeCode(for: id, seed: Array(random[VerificationID.randomBytes...]))
    let verification = make(atRest)
    do {
      return FreshVerification(
        verification: verification, firstJob: try jobs.body(of: verification, message: 1, code: code, app: app))
    } catch {
      throw APIError(.internalError, "the code cannot be sealed: check 'keysFile' of the coordinator")
    }
  }

  // MARK: Check

  private func check(_ command: CheckVerification, _ envelope: Envelope) throws(APIError) -> CommandRequest.Order {
    let context = SealContext(
      messageType: CheckVerification.type, messageID: envelope.messageID, recipient: command.verificationID)
    let text: Secret
    do {
      text = try command.code.open(with: keys, for: context)
    } catch {
      throw APIError(.invalidArgument, "code \(error)", field: "code")
    }
    // Malformed input still counts as a wrong attempt.
    return .check(
      CheckOrder(
        verificationID: command.verificationID, code: CodeText.digits(text.reveal()) ?? "",
        app: CommandFields.unlessEmpty(command.app), purpose: command.purpose,
        subject: CommandFields.unlessEmpty(command.subject),
        address: try ClientAddress(of: command.client)))
  }
}

/// A parsed command, checked against the configuration and ready for its transaction.
struct CommandRequest: Sendable {
  var envelope: Envelope
  /// Identifies the order; see ``CodeKeeper/fingerprint(of:)``.
  var fingerprint: [UInt8]
  var order: Order

  enum Order: Sendable {
    case start(StartOrder)
    case check(CheckOrder)
    case status(verificationID: String)
    case cancel(verificationID: String)
    case verifyApp(AppOrder)
    case revoke(RevocationOrder)
    case operationStatus(operationID: String)
    case conversions(ConversionFigures)
    case liftBlock(key: String)
    /// - Parameter number: E.164.
    case forget(number: String)

    /// Whether it changes nothing.
    var isLook: Bool {
      switch self {
      case .status, .operationStatus, .conversions: true
      case .start, .check, .cancel, .verifyApp, .revoke, .liftBlock, .forget: false
      }
    }

    /// Distinguishes orders under the same `message_id`.
    ///
    /// The body's bytes are not part of it, since a sender that tries again may write the same JSON in another order
    /// and seal the same code anew; nor is the code of a check, which ``CodeKeeper/fingerprint(of:)`` adds under its
    /// key.
    /// - Parameter isFormer: whether keyed hashes in it are those under the previous pepper.
    func fingerprint(isFormer: Bool = false) -> [UInt8] {
      let (name, parts) =
        switch self {
        case .start(let order): (StartVerification.type.text, order.fingerprintParts(isFormer: isFormer))
        case .check(let order):
          (
            CheckVerification.type.text,
            [order.verificationID, order.app ?? "", order.purpose?.rawValue ?? "", order.subject ?? ""]
          )
        case .status(let id): (GetVerificationStatus.type.text, [id])
        case .cancel(let id): (CancelVerification.type.text, [id])
        case .verifyApp(let order):
          (
            VerifyApp.type.text,
            [order.proof.app, order.proof.environment.rawValue, Self.text(order.proof.token, isFormer: isFormer)]
          )
        case .revoke(let order):
          (StartRevocation.type.text, [order.app.id, Self.text(order.token, isFormer: isFormer)])
        case .operationStatus(let id): (GetOperationStatus.type.text, [id])
        case .conversions: (ListConversions.type.text, [])
        case .liftBlock(let key): (LiftConversionBlock.type.text, [key])
        // Neither the command nor its answer is recorded.
        case .forget: (ForgetNumber.type.text, [])
        }
      return Self.hash(name, parts)
    }

    /// The fingerprint before version 10, which covered less of a start and a check, and no code; `nil` when it is
    /// unchanged.
    var earlierFingerprint: [UInt8]? {
      switch self {
      case .start(let order): Self.hash(StartVerification.type.text, [order.app.id, order.number.e164])
      case .check(let order): Self.hash(CheckVerification.type.text, [order.verificationID])
      case .status, .cancel, .verifyApp, .revoke, .operationStatus, .conversions, .liftBlock, .forget: nil
      }
    }

    private static func text(_ hash: TokenHash, isFormer: Bool) -> String {
      Base64URL.encode(isFormer ? hash.earlier ?? hash.current : hash.current)
    }

    private static func hash(_ name: String, _ parts: [String]) -> [UInt8] {
      SHA256.hash(Array(([name] + parts).joined(separator: "\u{0}").utf8))
    }
  }
}

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

  fileprivate func fingerprintParts(isFormer: Bool) -> [String] {
    var action = ""
    if case .captcha(let captcha)? = proof?.evidence { action = captcha.action ?? "" }
    return [
      app.id, number.e164, key.purpose.rawValue, key.subject ?? "", Base64URL.encode(claim.text(isFormer: isFormer)),
      action,
    ]
  }

  /// The requested SMS, as the limits see it.
  var limitedSend: LimitedSend {
    LimitedSend(
      number: number.e164, region: number.regionKey, isUnknownType: number.type == .unknown, address: address,
      device: device)
  }
}

/// A code to check.
struct CheckOrder: Sendable {
  /// The ID of a handle.
  var verificationID: String
  var code: String
  /// App, purpose and subject of the verification, as far as the command states them.
  var app: String?
  var purpose: VerificationPurpose?
  var subject: String?
  /// Address of the client, if the service states it.
  var address: ClientAddress?

  /// The first field in which a verification differs from the command.
  func difference(from verification: PhoneVerification) -> String? {
    if let app, app != verification.app { return "app" }
    if let purpose, purpose != verification.purpose { return "purpose" }
    if let subject, subject != verification.subject { return "subject" }
    return nil
  }
}

/// A verification that has not begun, with its first SMS ready to go.
struct FreshVerification: Sendable {
  var verification: PhoneVerification
  /// The body of the first job, sealed for it; absent for a fictional number.
  var firstJob: [UInt8]?
}
