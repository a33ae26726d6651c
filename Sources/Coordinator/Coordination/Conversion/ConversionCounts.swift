/// Number of codes that were sent, and of those that came back.
struct ConversionCounts: Sendable, Hashable {
  /// Verifications that have ended and for which an SMS was sent that no provider reports as undelivered.
  var sent = 0
  /// Those among them that were approved.
  var verified = 0

  mutating func add(isVerified: Bool) {
    sent += 1
    if isVerified { verified += 1 }
  }

  /// Undoes ``add(isVerified:)``; a verification that was never added changes nothing.
  mutating func withdraw(isVerified: Bool) {
    guard isVerified ? verified > 0 : sent > verified else { return }
    sent -= 1
    if isVerified { verified -= 1 }
  }

  static func += (left: inout ConversionCounts, right: ConversionCounts) {
    left.sent += right.sent
    left.verified += right.verified
  }
}
