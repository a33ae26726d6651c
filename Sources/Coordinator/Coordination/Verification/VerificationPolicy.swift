import ServiceRuntime

/// Rules for one verification. The defaults are those of ``CoordinatorConfiguration``.
public struct VerificationPolicy: Sendable, Hashable {
  /// Digits of a code; 4 to 10.
  public var codeLength: Int
  /// Time for which a code is valid after it was sent. NIST SP 800-63B allows 10 minutes at most.
  public var lifetime: Duration
  /// Total lifetime of a verification, however often its code is sent again.
  public var maximumLifetime: Duration
  /// Gaps before the same code is sent a second, third, … time. The last one repeats.
  public var resendGaps: [Duration]
  /// Number of checks of a code by its first requester. All others together have as many again.
  public var checksPerCode: Int

  /// Maximum number of SMS of one verification, whatever the gaps are.
  public static let maxMessages = 20

  /// Checks of a later handle of a code.
  public static let checksPerLaterHandle = 3

  /// Shared checks of the later handles that are reserved for devices that have proven themselves: unproven requesters
  /// cannot use these up.
  public static let checksForProvenHandles = 3

  /// Maximum number of handles of a code: enough for each screen, device and network that a user may change between
  /// within ten minutes, and few enough for one row.
  public static let maxHandles = 16

  /// Handles among ``maxHandles`` that are reserved for devices that have proven themselves.
  public static let handlesForProven = 4

  /// Minimum remaining validity of a code that is sent again: an SMS takes some seconds to arrive, up to half a minute
  /// in busy networks, and then the code has to be read and typed in.
  public static let minimumResendLifetime = Duration.seconds(60)

  public init(
    codeLength: Int = 6, lifetime: Duration = .seconds(300), maximumLifetime: Duration = .seconds(600),
    resendGaps: [Duration] = [.seconds(30), .seconds(60), .seconds(120)], checksPerCode: Int = 5
  ) {
    self.codeLength = codeLength
    self.lifetime = lifetime
    self.maximumLifetime = maximumLifetime
    self.resendGaps = resendGaps
    self.checksPerCode = checksPerCode
  }

  /// A handle's own checks.
  func checks(ofHandle number: Int) -> Int {
    number == PhoneVerification.firstHandle ? checksPerCode : min(checksPerCode, Self.checksPerLaterHandle)
  }

  /// Checks that all later handles of a code share.
  var laterChecks: Int { checksPerCode }

  /// Checks among ``laterChecks`` that need no proven device.
  var laterChecksOfAnybody: Int { max(1, laterChecks - Self.checksForProvenHandles) }

  func laterChecks(forProven isProven: Bool) -> Int { isProven ? laterChecks : laterChecksOfAnybody }
}

extension VerificationPolicy {
  /// Gaps that can be configured.
  static let resendGapSeconds = 0...3600

  /// - Parameter section: the section `verification`.
  init(_ section: ConfigurationSection) {
    self.init(
      codeLength: section.integer("codeLength", default: 6, in: 4...10, "Digits of a code."),
      lifetime: section.seconds(
        "lifetimeSeconds", default: .seconds(300), in: .seconds(1)...(.seconds(3600)),
        "How long a code is valid after it was sent."),
      maximumLifetime: section.seconds(
        "maximumLifetimeSeconds", default: .seconds(600), in: .seconds(1)...(.seconds(7200)),
        "How long a verification lives in all, however often its code is sent again."),
      resendGaps: section.integers(
        "resendGapsSeconds", default: [30, 60, 120], in: Self.resendGapSeconds,
        "How long to wait before the code is sent a second, third, … time; the last one repeats."
      ).map { .seconds($0) },
      checksPerCode: section.integer("checksPerCode", default: 5, in: 1...100, "How often a code may be checked."))
    if lifetime > maximumLifetime {
      section.problem("maximumLifetimeSeconds", "must not be below lifetimeSeconds")
    }
    if resendGaps.isEmpty { section.problem("resendGapsSeconds", "must have at least one gap") }
    if maximumLifetime > .seconds(600) {
      section.warning("maximumLifetimeSeconds", "is above 600, the longest that NIST SP 800-63B allows")
    }
  }
}
