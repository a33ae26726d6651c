extension Reason {
  /// The deadline passed, or was too near for a call, before any provider was asked.
  static let deadlineExceeded = Reason("DEADLINE_EXCEEDED", "The deadline passed before the job could be carried out.")

  /// An earlier attempt began and nobody knows how it ended.
  static let attemptLost = Reason(
    "ATTEMPT_LOST", "A worker began this job and did not live to record how it ended; it may have been carried out.")

  /// The provider call was ended by the engine, because the handler did not end it in time.
  static let callTimedOut = Reason("CALL_TIMED_OUT", "The provider did not answer in time.")

  /// All slots of the lane stayed taken.
  static let laneBusy = Reason("LANE_BUSY", "All slots of the lane stayed taken for too long.")

  /// The ledger could not be written, so the job was not begun.
  static let ledgerUnavailable = Reason("LEDGER_UNAVAILABLE", "The ledger could not be written; the job was not begun.")

  /// Another worker is carrying out this job.
  static let heldElsewhere = Reason("HELD", "Another worker is carrying out this job.")

  /// The result was recorded but could not be published.
  static let resultUndeliverable = Reason(
    "RESULT_UNDELIVERABLE", "The result is recorded in the ledger and could not be published yet.")

  /// A job names a lane that this worker does not have.
  static func unknownLane(_ name: String) -> Reason {
    Reason("UNKNOWN_LANE", "This worker has no lane \"\(name)\".")
  }

  /// A job whose handler named no lane at all.
  static let noLane = Reason("NO_LANE", "No lane of this worker can serve the job.")
}
