/// Rules for revocations. The defaults are those of the configuration.
public struct RevocationPolicy: Sendable, Hashable {
  /// Time that Apple may be unreachable before a revocation is given up. An authorization code expires after five
  /// minutes, but the refresh token that it yields does not.
  public var deadline: Duration
  /// The same for the mail that notifies the owner.
  public var noticeDeadline: Duration
  /// The mail worker's template, if the command names none.
  public var noticeTemplate: String
  /// Time after its end for which a revocation can still be queried, and its token recognized.
  public var retention: Duration

  /// Extra time after its deadline to wait for a worker's report: a job may be in a retry delay of an hour when its
  /// deadline passes.
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
