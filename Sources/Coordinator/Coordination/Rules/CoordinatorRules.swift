public import CountersignMessages
public import PhoneNumbers

/// Everything that decides on a command, apart from the store.
public struct CoordinatorRules: Sendable, Hashable {
  public var policy: VerificationPolicy
  public var limits: Limits
  public var regions: RegionRules
  /// Corrections for numbers that libphonenumber does not know yet.
  public var numberOverrides: NumberOverrides
  /// Apps by ID.
  public var apps: [String: AppProfile]
  /// Action of workers when it is unknown whether an SMS was sent. A repetition carries the same code, so it does no
  /// harm.
  public var onUnknown: OnUnknown
  /// Time after its end for which a verification can still be queried.
  public var retention: Duration
  /// Time for which a redelivered command gets the same reply.
  public var inboxRetention: Duration
  public var proof: ProofPolicy
  public var revocation: RevocationPolicy
  public var conversion: ConversionPolicy
  /// Maximum age of a `verification.start` or `app.verify` that is carried out.
  public var maxCommandAge: Duration
  /// The users of the broker that may send operators' commands.
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

  /// The rules for verifications of an app.
  func policy(of app: AppProfile) -> VerificationPolicy {
    var policy = policy
    if let gaps = app.resendGaps { policy.resendGaps = gaps }
    return policy
  }
}
