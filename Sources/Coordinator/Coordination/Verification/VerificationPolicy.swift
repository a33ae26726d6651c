import ServiceRuntime

/// Rules for one verification. The defaults are those of ``CoordinatorConfiguration``.
public struct VerificationPolicy: Sendable, Hashable {
  /// Digits of a code; 4 to 10.
  var codeLength = 6
  /// Time for which a code is valid after it was sent. NIST SP 800-63B allows 10 minutes at most.
  var lifetime = Duration.seconds(300)
  /// Total lifetime of a verification, however often its code is sent again.
  var maximumLifetime = Duration.seconds(600)
  /// Gaps before the same code is sent a second, third, … time. The last one repeats.
  var resendGaps: [Duration] = [.seconds(30), .seconds(60), .seconds(120)]
  /// Number of checks of a code by its first requester. All others together have as many again.
  var checksPerCode = 5

  /// Maximum number of SMS of one verification, whatever the gaps are.
  static let maxMessages = 20

  /// Checks of a later handle of a code.
  static let checksPerLaterHandle = 3

  /// Shared checks of the later handles that are reserved for devices that have proven themselves: unproven requesters
  /// cannot use these up.
  static let checksForProvenHandles = 3

  /// Maximum number of handles of a code: enough for each screen, device and network that a user may change between
  /// within ten minutes, and few enough for one row.
  static let maxHandles = 16

  /// Handles among ``maxHandles`` that are reserved for devices that have proven themselves.
  static let handlesForProven = 4

  /// Minimum remaining validity of a code that is sent again: an SMS takes some seconds to arrive, up to half a minute
  /// in busy networks, and then the code has to be read and typed in.
  static let minimumResendLifetime = Duration.seconds(60)

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
