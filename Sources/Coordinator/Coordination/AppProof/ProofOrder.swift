import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

struct ProofOrder: Sendable {
  /// Whether an invalid proof ends the start. Otherwise it is only recorded.
  var isBinding: Bool
  var evidence: Evidence

  enum Evidence: Sendable {
    /// No proof, which only an audited app may omit.
    case none
    case pair(receipt: String, secret: Secret)
    case half(receipt: String?)
    case captcha(CaptchaEvidence)
    case assessed(AssessedCaptcha)

    var receipt: String? {
      switch self {
      case .none: nil
      case .pair(let receipt, _): receipt
      case .half(let receipt): receipt
      case .captcha(let captcha): captcha.receipt
      case .assessed(let captcha): captcha.receipt
      }
    }
  }
}

struct CaptchaEvidence: Sendable {
  var token: Secret
  var hash: TokenHash
  /// ID of its assessment, should it be assessed.
  var assessmentID: String
  var client: StartVerification.Client?
  /// The receipt of a push that did not arrive, if the app states it: the timeline then gives the reason.
  var receipt: String?
  /// Action that the app passed to reCAPTCHA, if it differs from the configured one.
  var action: String?
}

struct AssessedCaptcha: Sendable, Hashable {
  var report: JobReport
  var score: Double?
  var receipt: String?
}

enum ProofVerdict: Sendable {
  case admitted(ProofNotes)
  /// The start is answered with this error.
  case refused(CommandAnswer)
  /// No proof was judged, because of a limit: the start is answered from a live verification of its requester, and
  /// changes nothing.
  case unjudged(LimitRefusal)
  /// The start waits. It is answered later.
  case deferred
}

struct ProofNotes: Sendable {
  var entries: [TimelineEntry] = []
  var audited: CaptchaEvidence?
  var device: TokenHash?
}

/// Does no I/O.
struct ProofDecoder: Sendable {
  let hashes: KeyedHashes
  let keys: KeyRing

  func order(
    _ command: StartVerification, _ app: AppProfile, _ envelope: Envelope, at now: UnixTime
  ) throws(APIError) -> ProofOrder? {
    // A fictional number needs no proof, so this is a real one.
    if command.fictionalOnly == true { throw .notFictional }
    let evidence: ProofOrder.Evidence
    if let proof = command.proof {
      evidence = try read(proof, command, app, envelope, at: now)
    } else {
      evidence = .none
    }
    switch (app.verification, evidence) {
    case (.trusted, .none), (.off, _): return nil
    case (.audit, _): return ProofOrder(isBinding: false, evidence: evidence)
    case (.push, .none), (.recaptcha, .none): throw .missingProof
    case (.recaptcha, .pair), (.recaptcha, .half): throw .pushNotOffered
    case (.trusted, _), (.push, _), (.recaptcha, _): return ProofOrder(isBinding: true, evidence: evidence)
    }
  }

  private func read(
    _ proof: StartVerification.Proof, _ command: StartVerification, _ app: AppProfile, _ envelope: Envelope,
    at now: UnixTime
  ) throws(APIError) -> ProofOrder.Evidence {
    let receipt = proof.receipt.flatMap { $0.isEmpty ? nil : $0 }
    let context = SealContext(
      messageType: StartVerification.type, messageID: envelope.messageID, recipient: app.id)
    if let token = try open(proof.recaptchaToken, context, "proof.recaptchaToken") {
      return .captcha(
        CaptchaEvidence(
          token: token, hash: hashes.hash(captchaToken: token, app: app.id),
          assessmentID: VerificationID.make(at: now), client: command.client, receipt: receipt,
          action: try CommandFields.recaptchaAction(of: proof)))
    }
    switch (receipt, try open(proof.secret, context, "proof.secret")) {
    case (let receipt?, let secret?): return .pair(receipt: receipt, secret: secret)
    case (nil, nil): return .none
    case (let receipt, nil), (let receipt, _?): return .half(receipt: receipt)
    }
  }

  private func open(
    _ field: SecretField?, _ context: SealContext, _ name: String
  ) throws(APIError) -> Secret? {
    guard let field else { return nil }
    let secret = try field.read(with: keys, context, field: name)
    try TokenLimit.check(secret, field: name)
    return secret.isEmpty ? nil : secret
  }
}

/// Maximum length of a third party's token: sealed, it has to fit into the body of a job.
enum TokenLimit {
  /// Tokens of Google and Apple have a few thousand bytes at most.
  static let maxBytes = 16 * 1024
  /// Maximum length of the client's user agent, which reCAPTCHA receives. Those of browsers have a few hundred bytes.
  static let maxUserAgentBytes = 512

  static func check(_ token: Secret, field: String) throws(APIError) {
    guard token.reveal().utf8.count <= maxBytes else {
      throw APIError(.invalidArgument, "\(field) is longer than \(maxBytes) bytes", field: field)
    }
  }
}

/// Reason that a proof is not accepted. Each has its own error code, or its own reason next to the code; see
/// `APIError.init(_:)`.
enum ProofRefusal: Error, Hashable {
  case unknownReceipt
  /// The secret does not belong to the receipt.
  case wrongSecret
  /// Receipt and secret belong together, but to another app.
  case otherApp
  case expired
  case revoked
  /// The receipt came without its secret.
  case missingSecret(failure: VerificationFailure?)
  /// The reCAPTCHA token was used before.
  case captchaReplayed
  case captchaRefused(VerificationFailure)
  /// reCAPTCHA could not be reached in time.
  case captchaUndecided(VerificationFailure)
}

// Maps refused proofs to error codes. On INVALID_APP_CREDENTIAL an app SDK clears its pair and requests a new one,
// once; it falls back to reCAPTCHA when `app.verify` is answered with that or with MISSING_IOS_APP_TOKEN. So all cases
// that a new pair would fix share that code, and differ in `reason`. The table is in docs/messages.md.
extension APIError {
  init(_ refusal: ProofRefusal) {
    switch refusal {
    case .unknownReceipt:
      self.init(
        .invalidAppCredential, "there is no such receipt: send app.verify, then its receipt with the secret",
        field: "proof.receipt", reason: "UNKNOWN_RECEIPT")
    case .wrongSecret:
      self.init(
        .invalidAppCredential, "the secret is not that of the receipt: send app.verify for a new pair",
        field: "proof.secret", reason: "WRONG_SECRET")
    case .expired:
      self.init(
        .invalidAppCredential, "the receipt is too old: send app.verify for a new one", field: "proof.receipt",
        reason: "RECEIPT_EXPIRED")
    case .revoked:
      self.init(
        .invalidAppCredential, "the receipt was taken back: send app.verify for a new one", field: "proof.receipt",
        reason: "RECEIPT_REVOKED")
    case .otherApp:
      self.init(
        .appNotVerified, "receipt and secret were issued to another app: send app.verify for this one",
        field: "proof.receipt", reason: "OTHER_APP")
    case .missingSecret(let failure):
      self = .missingSecret(failure)
    case .captchaReplayed:
      self.init(
        .captchaCheckFailed, "the reCAPTCHA token was used before, and is good for one request: get a new one",
        field: "proof.recaptchaToken", reason: "CAPTCHA_REPLAYED")
    case .captchaRefused(let failure):
      self.init(
        .captchaCheckFailed, "reCAPTCHA refuses the request (\(failure.code)): get a new token",
        field: "proof.recaptchaToken", reason: failure.code)
    case .captchaUndecided(let failure):
      self.init(
        .appNotVerified, "reCAPTCHA could not be asked (\(failure.code)): get a new token and try again",
        field: "proof.recaptchaToken", retryAfter: 5, reason: "CAPTCHA_UNDECIDED")
    }
  }

  private static func missingSecret(_ failure: VerificationFailure?) -> APIError {
    guard let failure else {
      return APIError(
        .missingAppCredential, "receipt and secret belong together: give both, or a recaptchaToken", field: "proof")
    }
    return APIError(
      .missingAppCredential,
      "the push with the secret was not delivered (\(failure.code)), so it will not come: give a recaptchaToken",
      field: "proof.secret", reason: failure.code)
  }

  static let missingProof = APIError(
    .missingClientIdentifier,
    "there is no proof that the request comes from the app: give receipt and secret of app.verify, or a recaptchaToken",
    field: "proof")
  static let notFictional = APIError(
    .missingClientIdentifier, "without a proof that its service accepts, only fictional numbers are verified",
    field: "proof", reason: "FICTIONAL_ONLY")
  static let pushNotOffered = APIError(
    .invalidAppCredential, "this app is not verified by push: give a recaptchaToken", reason: "PUSH_NOT_OFFERED")
  static let missingDeviceToken = APIError(
    .missingIOSAppToken, "there is no device token: fall back to reCAPTCHA", field: "deviceToken")
  static let malformedDeviceToken = APIError(
    .invalidAppCredential,
    "the device token is none: give the bytes that the device got from Apple in hexadecimal, or fall back to reCAPTCHA",
    field: "deviceToken", reason: "MALFORMED_TOKEN")
  static let missingReplyTo = APIError(
    .invalidArgument, "reply_to is missing: the receipt could not be returned", field: "reply_to")

  init(refusedToken failure: VerificationFailure) {
    let isGone = failure.code == PushFailure.unregistered
    self.init(
      isGone ? .missingIOSAppToken : .invalidAppCredential,
      "Apple refused pushes to this device token lately (\(failure.code)): fall back to reCAPTCHA",
      field: "deviceToken", reason: failure.code)
  }
}

extension ProofRefusal {
  /// Whether it takes no device and no old receipt to be refused so.
  var canBeMadeUp: Bool {
    switch self {
    case .unknownReceipt, .wrongSecret, .missingSecret, .captchaReplayed: true
    case .otherApp, .expired, .revoked, .captchaRefused, .captchaUndecided: false
    }
  }

  var countedAs: (AppVerified.Method, String) {
    switch self {
    case .unknownReceipt: (.push, "unknown_receipt")
    case .wrongSecret: (.push, "wrong_secret")
    case .otherApp: (.push, "other_app")
    case .expired: (.push, "expired")
    case .revoked: (.push, "revoked")
    case .missingSecret: (.push, "missing_secret")
    case .captchaReplayed: (.recaptcha, "replayed")
    case .captchaRefused: (.recaptcha, "refused")
    case .captchaUndecided: (.recaptcha, "undecided")
    }
  }
}
