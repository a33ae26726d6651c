public import CountersignMessages
public import PhoneNumbers

/// Everything that decides on a command, apart from what is stored.
public struct CoordinatorRules: Sendable, Hashable {
  public var policy: VerificationPolicy
  public var limits: Limits
  public var regions: RegionRules
  /// What numbers are that libphonenumber does not know yet.
  public var numberOverrides: NumberOverrides
  /// By ID.
  public var apps: [String: AppProfile]
  /// What workers do when nobody knows whether a message was sent. It carries the same code, so twice does no harm.
  public var onUnknown: OnUnknown
  /// How long a verification that is over can still be asked about.
  public var retention: Duration
  /// How long a command that comes again is answered with the same reply.
  public var inboxRetention: Duration
  public var proof: ProofPolicy
  public var revocation: RevocationPolicy
  public var conversion: ConversionPolicy
  /// Greatest age of a `verification.start` or `app.verify` that is carried out.
  public var maxCommandAge: Duration
  /// The users of the broker whose operators' commands are carried out.
  public var operators: Set<String>

  public static let defaultOperators: Set<String> = ["operator"]

  /// Apps give up after ten to thirty seconds, and their users ask again.
  public static let defaultMaxCommandAge = Duration.seconds(30)

  public init(
    policy: VerificationPolicy = VerificationPolicy(), limits: Limits = Limits(), regions: RegionRules,
    numberOverrides: NumberOverrides = .none, apps: [String: AppProfile], onUnknown: OnUnknown = .resend,
    retention: Duration = .seconds(86_400), inboxRetention: Duration = .seconds(3600),
    proof: ProofPolicy = ProofPolicy(), revocation: RevocationPolicy = RevocationPolicy(),
    conversion: ConversionPolicy = ConversionPolicy(), maxCommandAge: Duration = defaultMaxCommandAge,
    operators: Set<String> = defaultOperators
  ) {
    self.policy = policy
    self.limits = limits
    self.regions = regions
    self.numberOverrides = numberOverrides
    self.apps = apps
    self.onUnknown = onUnknown
    self.retention = retention
    self.inboxRetention = inboxRetention
    self.proof = proof
    self.revocation = revocation
    self.conversion = conversion
    self.maxCommandAge = maxCommandAge
    self.operators = operators
  }

  /// The rules that verifications of an app live under.
  func policy(of app: AppProfile) -> VerificationPolicy {
    var policy = policy
    if let gaps = app.resendGaps { policy.resendGaps = gaps }
    return policy
  }
}
