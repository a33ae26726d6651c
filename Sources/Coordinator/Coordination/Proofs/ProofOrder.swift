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
