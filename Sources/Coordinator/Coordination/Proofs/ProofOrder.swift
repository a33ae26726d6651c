import CountersignMessages
import CountersignTelemetry

/// What a start has to show for its app, read and not judged yet.
struct ProofOrder: Sendable {
  /// Whether a proof that does not hold ends the start; otherwise it is only recorded.
  var isBinding: Bool
  var evidence: Evidence

  enum Evidence: Sendable {
    /// Nothing, which only an app that is audited may show.
    case none
    /// A receipt and a secret.
    case pair(receipt: String, secret: Secret)
    /// One of the two.
    case half(receipt: String?)
    case captcha(CaptchaEvidence)
    /// A reCAPTCHA token that passed.
    case assessed(AssessedCaptcha)
  }
}

/// A reCAPTCHA token that was not assessed yet.
struct CaptchaEvidence: Sendable {
  var token: Secret
  var hash: TokenHash
  var client: StartVerification.Client?
  /// The receipt of a push that did not come, when the app tells it: the timeline then says why.
  var receipt: String?
  /// Action: what the app told reCAPTCHA that its user is about to do, where that is not what the configuration says.
  var action: String?
}

/// What a worker made of a reCAPTCHA token.
struct AssessedCaptcha: Sendable, Hashable {
  var report: JobReport
  /// reCAPTCHA's score, if it gave one.
  var score: Double?
  /// See ``CaptchaEvidence/receipt``.
  var receipt: String?
}

/// What comes of a proof.
enum ProofVerdict: Sendable {
  /// The start goes on.
  case admitted(ProofNotes)
  /// The start is answered with this.
  case refused(APIError)
  /// The start has nothing to show that was judged, because a limit keeps that from being judged: it is answered with what its requester
  /// has of a code that lives, and changes nothing.
  case unjudged(LimitRefusal)
  /// The start waits; it is answered later.
  case deferred
}

/// What a proof leaves behind in its verification.
struct ProofNotes: Sendable {
  /// For the timeline.
  var entries: [TimelineEntry] = []
  /// A reCAPTCHA token that is assessed while the verification goes on.
  var audited: CaptchaEvidence?
  /// The device that proved the app, if one did.
  var device: TokenHash?
}
