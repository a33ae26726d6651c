import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// A start's proof of its app, parsed but not judged yet.
struct ProofOrder: Sendable {
  /// Whether an invalid proof ends the start; otherwise it is only recorded.
  var isBinding: Bool
  var evidence: Evidence

  enum Evidence: Sendable {
    /// No proof, which only an audited app may omit.
    case none
    /// A receipt and a secret.
    case pair(receipt: String, secret: Secret)
    /// One of the two.
    case half(receipt: String?)
    case captcha(CaptchaEvidence)
    /// A reCAPTCHA token that passed.
    case assessed(AssessedCaptcha)

    /// The receipt that it names, if any.
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

/// A reCAPTCHA token that was not assessed yet.
struct CaptchaEvidence: Sendable {
  var token: Secret
  var hash: TokenHash
  var client: StartVerification.Client?
  /// The receipt of a push that did not arrive, if the app states it: the timeline then gives the reason.
  var receipt: String?
  /// Action that the app passed to reCAPTCHA, if it differs from the configured one.
  var action: String?
}

/// A worker's assessment of a reCAPTCHA token.
struct AssessedCaptcha: Sendable, Hashable {
  var report: JobReport
  /// reCAPTCHA's score, if any.
  var score: Double?
  /// See ``CaptchaEvidence/receipt``.
  var receipt: String?
}

/// Outcome of judging a proof.
enum ProofVerdict: Sendable {
  /// The start goes on.
  case admitted(ProofNotes)
  /// The start is answered with this error.
  case refused(APIError)
  /// No proof was judged, because of a limit: the start is answered from a live verification of its requester, and
  /// changes nothing.
  case unjudged(LimitRefusal)
  /// The start waits; it is answered later.
  case deferred
}

/// Traces of a proof in its verification.
struct ProofNotes: Sendable {
  /// Entries for the timeline.
  var entries: [TimelineEntry] = []
  /// A reCAPTCHA token that is assessed while the verification goes on.
  var audited: CaptchaEvidence?
  /// The device that proved the app, if any.
  var device: TokenHash?
}

/// Parses proofs and checks them against the configuration. Does no I/O.
struct ProofDecoder: Sendable {
  private let hashes: KeyedHashes
  private let keys: KeyRing

  init(hashes: KeyedHashes, keys: KeyRing) {
    self.hashes = hashes
    self.keys = keys
  }

  /// - Returns: `nil` when there is nothing to judge: the service vouches for its client.
  /// - Throws: the error for the requester.
  func order(_ command: StartVerification, _ app: AppProfile, _ envelope: Envelope) throws(APIError) -> ProofOrder? {
    let evidence: ProofOrder.Evidence
    if let proof = command.proof {
      evidence = try read(proof, command, app, envelope)
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
    _ proof: StartVerification.Proof, _ command: StartVerification, _ app: AppProfile, _ envelope: Envelope
  ) throws(APIError) -> ProofOrder.Evidence {
    let receipt = proof.receipt.flatMap { $0.isEmpty ? nil : $0 }
    let context = SealContext(
      messageType: StartVerification.type, messageID: envelope.messageID, recipient: app.id)
    if let token = try open(proof.recaptchaToken, context, "proof.recaptchaToken") {
      return .captcha(
        CaptchaEvidence(
          token: token, hash: hashes.hash(captchaToken: token, app: app.id), client: command.client, receipt: receipt,
          action: try CommandFields.recaptchaAction(of: proof)))
    }
    switch (receipt, try open(proof.secret, context, "proof.secret")) {
    case (let receipt?, let secret?): return .pair(receipt: receipt, secret: secret)
    case (nil, nil): return .none
    case (let receipt, nil), (let receipt, _?): return .half(receipt: receipt)
    }
  }

  /// - Returns: `nil` for a field that is absent or empty.
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

  /// - Throws: the error for the requester.
  static func check(_ token: Secret, field: String) throws(APIError) {
    guard token.reveal().utf8.count <= maxBytes else {
      throw APIError(.invalidArgument, "\(field) is longer than \(maxBytes) bytes", field: field)
    }
  }
}
