/// How a revocation ended. More words may come.
public struct OperationEnding: OpenWord {
  public let rawValue: String

  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// The token is revoked; no notice was asked for.
  public static let revoked = OperationEnding(rawValue: "REVOKED")
  /// The token is revoked, and the notice was taken by the mail server.
  public static let revokedAndNotified = OperationEnding(rawValue: "REVOKED_AND_NOTIFIED")
  /// The token is revoked; the notice was refused for good.
  public static let revokedNoticeRefused = OperationEnding(rawValue: "REVOKED_NOTICE_REFUSED")
  /// The token is revoked; the notice could not be sent in time.
  public static let revokedNoticeExpired = OperationEnding(rawValue: "REVOKED_NOTICE_EXPIRED")
  /// The token is revoked; nobody knows whether the notice was sent.
  public static let revokedNoticeUnknown = OperationEnding(rawValue: "REVOKED_NOTICE_UNKNOWN")
  /// Apple does not take the token.
  public static let refused = OperationEnding(rawValue: "REFUSED")
  /// Apple was not reached in time; the token is as it was.
  public static let expired = OperationEnding(rawValue: "EXPIRED")
  /// Nobody knows whether the token is revoked; asking again with the same token is safe.
  public static let unknown = OperationEnding(rawValue: "UNKNOWN")
  /// The authorization code is used up, and what it was exchanged for is lost: only the user can revoke it now.
  public static let lost = OperationEnding(rawValue: "LOST")

  public static let known: [OperationEnding] = [
    .revoked, .revokedAndNotified, .revokedNoticeRefused, .revokedNoticeExpired, .revokedNoticeUnknown, .refused,
    .expired, .unknown, .lost,
  ]
}
