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

  /// The gap after the SMS with this number, from 1.
  func gap(afterMessage number: Int) -> Duration {
    guard !resendGaps.isEmpty else { return .zero }
    return resendGaps[min(max(number, 1), resendGaps.count) - 1]
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

  /// ``minimumResendLifetime``, or the lifetime of a code if that is shorter.
  var shortestResend: Duration { min(Self.minimumResendLifetime, lifetime) }
}
