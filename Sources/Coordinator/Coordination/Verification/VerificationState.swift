/// Where a phone verification stands.
///
/// ```
/// pending ──> sending ──> sent ──┬──> approved
///    │           │          │    ├──> failed     (wrong code too often, no message could be sent)
///    └───────────┴──────────┴────┼──> expired
///                                └──> canceled
/// ```
public enum VerificationState: String, Sendable, Codable, CaseIterable {
  /// Begun; no message was asked for. A fictional number stays here until it ends.
  case pending
  /// A message was asked for, and none is known to have been taken by a provider.
  case sending
  /// A provider took a message.
  case sent
  /// The code was given back in time. It is used up.
  case approved
  /// No message could be sent, or the code was guessed at too often.
  case failed
  /// The time ran out.
  case expired
  /// The caller ended it.
  case canceled

  /// Whether a code can still be checked; the others are final.
  public var isLive: Bool {
    switch self {
    case .pending, .sending, .sent: true
    case .approved, .failed, .expired, .canceled: false
    }
  }
}
