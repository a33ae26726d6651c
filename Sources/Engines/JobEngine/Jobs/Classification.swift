/// What became of one call of a provider. This table is the heart of every worker.
///
/// | class | when | what the engine does |
/// |---|---|---|
/// | `accepted` | the provider took it | settles, publishes the result |
/// | `refused` | it never will | settles, publishes the result with the reason |
/// | `otherLane` | this lane never will, the next one may | next lane; after the last one as `refused` |
/// | `retry` | it surely did not happen, and may later | next lane, else a delay step; bounded by the deadline |
/// | `unknown` | bytes left and no clear answer came | looks it up; else the job's rule; else settles as `unknown` |
/// | `lost` | the end of an earlier call is not known, and never will be | settles as `unknown` at once |
/// | `continued` | it is done in part, and goes on as another message | settles, publishes that message |
/// | `laneDown` | our fault or theirs, for everybody | stops using the lane, probes it; the job takes another lane or waits uncounted |
/// | `notCalled` | no byte left, for a reason that is none of the lane's | as its `NotCalled` says; the lane's count of failures stays as it is |
public enum Classification: Sendable, Hashable {
  /// The provider took the job.
  /// - Parameters:
  ///   - reference: The provider's own ID of what it took.
  ///   - extras: What the type adds to its result (`segments`, `encoding`, …).
  case accepted(reference: String?, extras: ResultExtras = [:])

  /// The provider never will: bad number, opted out, token unregistered.
  case refused(Reason, extras: ResultExtras = [:])

  /// This lane never will, the job's next one may: the account may not send there, the token is of the other environment.
  ///
  /// The provider has answered, so it is no failure of the lane.
  case otherLane(Reason, extras: ResultExtras = [:])

  /// It surely did not happen, and may later: connect failed, 429, explicitly "not processed".
  ///
  /// `after` is the delay that the provider asked for (`Retry-After`); without one the attempt's back-off is used.
  case retry(Reason, after: Duration? = nil)

  /// Bytes left and no clear answer came back: time-out, reset, 5xx of a call that is not idempotent.
  case unknown(Reason)

  /// The answer shows that an earlier call, whose end nobody knew, used up what the job brought: to ask again tells nothing more.
  case lost(Reason, extras: ResultExtras = [:])

  /// The call yielded what must not be lost: the job goes on as a further message, which holds it sealed.
  ///
  /// The message is recorded in the ledger and confirmed by the broker before the job is acknowledged; the result comes from it.
  case continued(as: NextStage)

  /// Credentials refused, account suspended, sender not registered: nothing that goes this way will succeed.
  case laneDown(Reason)

  /// No call was made, and the lane has no part in that: it neither works nor fails by it.
  case notCalled(Reason, NotCalled)

  /// Reason for which no call was made.
  public enum NotCalled: Sendable, Hashable {
    /// Too little of the deadline is left for this provider. The next lane may want less; after the last one the job is expired.
    case tooLate
    /// There is no request of this lane's that would say it. The next lane may have one; after the last one the job is refused.
    case impossible
    /// This process has no room for one more. The next lane may have; after the last one the job waits uncounted.
    case busy
  }

  /// Whether the provider was called, as far as anybody knows.
  var isCall: Bool {
    if case .notCalled = self { false } else { true }
  }
}
