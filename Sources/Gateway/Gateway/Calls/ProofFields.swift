import CountersignMessages
import CountersignTelemetry
import Projects

/// Proof that comes with a call that sends a code: a push's receipt and secret, or a reCAPTCHA token. The coordinator
/// decides whether the app needs one, and judges it.
struct ProofFields: Sendable {
  /// Text in place of a token of reCAPTCHA Enterprise, when there is none.
  private static let noToken = "NO_RECAPTCHA"

  private let purpose: VerificationPurpose
  private let enforcement: Project.Recaptcha.Enforcement
  private var receipt: String?
  private var secret: Secret?
  private var token: Secret?
  private var isEnterprise = false
  /// Whether the SDK could not solve reCAPTCHA Enterprise, and has no other proof yet.
  private var isUnsolved = false
  /// Whether the project demands a token of reCAPTCHA Enterprise and there is none. Fictional numbers need none, which
  /// the coordinator knows.
  let lacksToken: Bool

  init(_ body: CallBody, for purpose: VerificationPurpose, _ project: Project) throws(ProtocolError) {
    self.purpose = purpose
    enforcement = project.recaptcha?.phone ?? .off
    _ = try body.enumeration("clientType", ProtocolEnumeration.clientType)
    _ = try body.enumeration("recaptchaVersion", ProtocolEnumeration.recaptchaVersion)
    receipt = try body.word("iosReceipt", else: "INVALID_APP_CREDENTIAL")
    secret = try body.secret("iosSecret", else: "INVALID_APP_CREDENTIAL").map(Secret.init)
    token = try body.secret("recaptchaToken", else: "CAPTCHA_CHECK_FAILED").map(Secret.init)
    let given = try body.secret("captchaResponse", else: "INVALID_RECAPTCHA_TOKEN")
    lacksToken = enforcement == .enforce && (given == nil || given == Self.noToken)
    guard let given, given != Self.noToken else {
      isUnsolved = given != nil && token == nil && receipt == nil && secret == nil
      return
    }
    // While reCAPTCHA Enterprise is only audited, another proof goes before it.
    if enforcement == .audit, token != nil || receipt != nil && secret != nil { return }
    token = Secret(given)
    isEnterprise = true
  }

  /// A receipt beside a token tells of a push that did not arrive.
  func field(
    sealed seal: (Secret) throws(ProtocolError) -> SecretField
  ) throws(ProtocolError) -> StartVerification.Proof? {
    // Another proof in its place counts for nothing.
    if lacksToken { return nil }
    if let token {
      var proof = StartVerification.Proof(
        recaptchaToken: try seal(token), action: isEnterprise ? purpose.recaptchaAction : nil)
      proof.receipt = receipt
      return proof
    }
    guard receipt != nil || secret != nil else { return nil }
    // One half goes on as it is: the coordinator says which one is missing.
    var proof = StartVerification.Proof(receipt: "", secret: try seal(secret ?? Secret("")))
    proof.receipt = receipt
    if secret == nil { proof.secret = nil }
    return proof
  }

  /// The answer to a token of reCAPTCHA Enterprise that was refused or not solved. `nil`: that of the refusal itself.
  ///
  /// While it is only audited, SDKs fall back to another proof on INVALID_APP_CREDENTIAL, Apple's on nothing else.
  fileprivate func refusal(_ error: APIError) -> ProtocolError? {
    if error.reason == "FICTIONAL_ONLY" { return .account("MISSING_RECAPTCHA_TOKEN") }
    if enforcement == .audit, isUnsolved, error.code == .missingClientIdentifier {
      return .account("INVALID_APP_CREDENTIAL")
    }
    guard isEnterprise, error.field == "proof.recaptchaToken" else { return nil }
    if enforcement == .audit { return .account("INVALID_APP_CREDENTIAL") }
    guard error.code == .captchaCheckFailed else { return nil }
    switch error.reason {
    case "CAPTCHA_ACTION_MISMATCH": return .account("INVALID_RECAPTCHA_ACTION")
    case "CAPTCHA_INVALID", "CAPTCHA_DUPLICATE", "CAPTCHA_REPLAYED": return .account("INVALID_RECAPTCHA_TOKEN")
    default: return nil
    }
  }
}

extension CommandExchange {
  /// Asks for a code. What was wrong with the proof is told as SDKs act on it.
  func start(_ command: C, _ proof: ProofFields) async throws(ProtocolError) -> C.Reply {
    switch try await attempt(command, timeout: Broker.startTimeout) {
    case .success(let reply): return reply
    case .failure(let error):
      // Whatever the client is told, a wrong configuration is counted.
      let refusal = refusal(error)
      throw proof.refusal(error) ?? refusal
    }
  }
}

extension VerificationPurpose {
  /// Action for which SDKs ask reCAPTCHA Enterprise.
  fileprivate var recaptchaAction: String {
    switch self {
    // The proof of a service is its access token.
    case .signIn, .verification: "sendVerificationCode"
    case .secondFactorEnrollment: "mfaSmsEnrollment"
    case .secondFactorSignIn: "mfaSmsSignIn"
    }
  }
}
