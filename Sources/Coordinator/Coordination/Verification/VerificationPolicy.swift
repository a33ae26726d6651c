/// The rules one verification lives under. The defaults are those of ``CoordinatorConfiguration``.
public struct VerificationPolicy: Sendable, Hashable {
  /// Digits of a code; 4 to 10.
  public var codeLength: Int
  /// How long a code is valid after it was sent. NIST SP 800-63B allows 10 minutes at most.
  public var lifetime: Duration
  /// How long a verification lives in all, however often its code is sent again.
  public var maximumLifetime: Duration
  /// How long to wait before the same code is sent a second, third, … time. The last one repeats.
  public var resendGaps: [Duration]
  /// Number of times a code may be checked by who asked for it first. All others together have as many checks again.
  public var checksPerCode: Int

  /// How many messages one verification may send, whatever the gaps are.
  public static let maxMessages = 20

  /// Checks that a handle has which is not the first of its code.
  public static let checksPerLaterHandle = 3

  /// Of the checks that all later handles have together, so many are kept for devices that have proven themselves: whoever has none cannot
  /// use up those of who has one.
  public static let checksForProvenHandles = 3

  /// Number of handles a code has at the most: one for each screen, device and network that a user may change between within ten
  /// minutes, and few enough to be kept in one row.
  public static let maxHandles = 16

  /// Of ``maxHandles``, so many are kept for devices that have proven themselves.
  public static let handlesForProven = 4

  /// Time for which a code has to stay valid that is sent again: a message takes some seconds to arrive, up to half a minute where networks
  /// are busy, and then the code has to be read and typed in.
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

  /// The gap after the message with this number, from 1.
  func gap(afterMessage number: Int) -> Duration {
    guard !resendGaps.isEmpty else { return .zero }
    return resendGaps[min(max(number, 1), resendGaps.count) - 1]
  }

  /// Checks that a handle has for itself.
  func checks(ofHandle number: Int) -> Int {
    number == PhoneVerification.firstHandle ? checksPerCode : min(checksPerCode, Self.checksPerLaterHandle)
  }

  /// Checks that all later handles of a code have together.
  var laterChecks: Int { checksPerCode }

  /// Of ``laterChecks``, those that need no proven device.
  var laterChecksOfAnybody: Int { max(1, laterChecks - Self.checksForProvenHandles) }

  func laterChecks(forProven isProven: Bool) -> Int { isProven ? laterChecks : laterChecksOfAnybody }

  /// ``minimumResendLifetime``, or the lifetime of a code where that is shorter.
  var shortestResend: Duration { min(Self.minimumResendLifetime, lifetime) }
}
