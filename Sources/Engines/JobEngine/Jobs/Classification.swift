/// Outcome of one call of a provider. This table is the heart of every worker.
///
/// | class | when | what the engine does |
/// |---|---|---|
/// | `accepted` | the provider accepted it | settles, publishes the result |
/// | `refused` | it never will | settles, publishes the result with the reason |
/// | `otherLane` | this lane never will, the next one may | next lane; after the last one as `refused` |
/// | `retry` | it surely did not happen, and may later | next lane, else a retry delay; bounded by the deadline |
/// | `unknown` | bytes left and no clear answer came | looks it up; else the job's rule; else settles as `unknown` |
/// | `lost` | the end of an earlier call is unknown for good | settles as `unknown` at once |
/// | `continued` | it is done in part, and continues as another message | settles, publishes that message |
/// | `laneDown` | the lane fails for every job | stops using the lane, probes it; the job takes another lane or waits
/// uncounted | | `notCalled` | no byte left, for a reason other than the lane | as its `NotCalled` says; the lane's
/// count of failures stays as it is |
public enum Classification: Sendable, Hashable {
  /// The provider accepted the job.
  /// - Parameters:
  ///   - reference: the provider's own ID of the accepted message.
  ///   - extras: fields that the type adds to its result (`segments`, `encoding`, …).
  case accepted(reference: String?, extras: ResultExtras = [:])

  /// The provider never will accept it: bad number, opted out, token unregistered.
  case refused(Reason, extras: ResultExtras = [:])

  /// This lane never will accept it, the job's next one may: the account may not send there, the token is of the other
  /// environment.
  ///
  /// The provider has answered, so it is not a failure of the lane.
  case otherLane(Reason, extras: ResultExtras = [:])

  /// It surely did not happen, and may later: connect failed, 429, explicitly "not processed".
  ///
  /// `after` is the delay that the provider requested (`Retry-After`); without one the backoff of the attempt applies.
  case retry(Reason, after: Duration? = nil)

  /// Bytes left and no clear answer came back: timeout, reset, 5xx of a call that is not idempotent.
  case unknown(Reason)

  /// The answer shows that an earlier call with an unknown end used up the job's input: asking again reveals nothing
  /// more.
  case lost(Reason, extras: ResultExtras = [:])

  /// The call yielded a value that must not be lost: the job continues as a further message, which holds it sealed.
  ///
  /// The message is recorded in the ledger and confirmed by the broker before the job is acknowledged; the result comes
  /// from it.
  case continued(as: NextStage)

  /// Credentials refused, account suspended, sender not registered: no call through this lane will succeed.
  case laneDown(Reason)

  /// No call was made, for a reason other than the lane: it neither works nor fails by it.
  case notCalled(Reason, NotCalled)

  /// Reason that no call was made.
  public enum NotCalled: Sendable, Hashable {
    /// Too little time is left before the deadline for this provider. The next lane may need less; after the last one
    /// the job is expired.
    case tooLate
    /// This lane has no request that expresses the job. The next lane may have one; after the last one the job is
    /// refused.
    case impossible
    /// This process has no capacity for one more. The next lane may have; after the last one the job waits uncounted.
    case busy
  }

  /// Whether the provider was called, as far as known.
  var isCall: Bool {
    if case .notCalled = self { false } else { true }
  }
}
