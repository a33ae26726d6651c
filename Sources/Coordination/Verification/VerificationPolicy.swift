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
  /// How often a code may be checked.
  public var checksPerCode: Int

  /// How many messages one verification may send, whatever the gaps are.
  public static let maxMessages = 20

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

  /// ``minimumResendLifetime``, or the lifetime of a code where that is shorter.
  var shortestResend: Duration { min(Self.minimumResendLifetime, lifetime) }
}
