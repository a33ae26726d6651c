/// State of a phone verification.
///
/// ```
/// pending ──> sending ──> sent ──┬──> approved
///    │           │          │    ├──> failed     (too many wrong codes, or no SMS could be sent)
///    └───────────┴──────────┴────┼──> expired
///                                └──> canceled
/// ```
public enum VerificationState: String, Sendable, Codable, CaseIterable {
  /// Begun; no SMS was requested. A fictional number stays here until it ends.
  case pending
  /// An SMS was requested, and none is known to have been accepted by a provider.
  case sending
  /// A provider accepted an SMS.
  case sent
  /// The code came back in time. It is used up.
  case approved
  /// No SMS could be sent, or there were too many wrong codes.
  case failed
  /// The deadline passed.
  case expired
  /// The requester canceled it.
  case canceled

  /// Whether a code can still be checked; the other states are final.
  public var isLive: Bool {
    switch self {
    case .pending, .sending, .sent: true
    case .approved, .failed, .expired, .canceled: false
    }
  }
}
