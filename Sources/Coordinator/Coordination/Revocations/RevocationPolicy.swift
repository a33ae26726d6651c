/// The rules that revocations live under. The defaults are those of the configuration.
public struct RevocationPolicy: Sendable, Hashable {
  /// How long Apple may stay out of reach before a revocation is given up. An authorization code is dead after five minutes, but the
  /// refresh token that it yields is not.
  public var deadline: Duration
  /// The same for the mail that tells of it.
  public var noticeDeadline: Duration
  /// The mail worker's template, where the command names none.
  public var noticeTemplate: String
  /// How long a revocation that is over can still be asked about, and a token is known to be revoked.
  public var retention: Duration

  /// How long after its deadline a worker's report is waited for: a job may lie in a step of an hour when its deadline passes.
  static let grace = Duration.seconds(2 * 3600)

  public init(
    deadline: Duration = .seconds(3600), noticeDeadline: Duration = .seconds(86_400),
    noticeTemplate: String = "revocation-notice", retention: Duration = .seconds(30 * 86_400)
  ) {
    self.deadline = deadline
    self.noticeDeadline = noticeDeadline
    self.noticeTemplate = noticeTemplate
    self.retention = retention
  }
}
