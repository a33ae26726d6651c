/// Event in the life of a verification.
public enum VerificationEvent: Sendable, Hashable {
  /// The verification begins. The first event, and effective only once.
  case started
  /// The same requester asked again. Sends the same code once more when that is due.
  case startedAgain(languageCode: String?)
  /// Another requester asked for the number, and gets a handle of its own. Sends the same code once more when that is
  /// due and allowed.
  case joined(VerificationHandle, sends: Bool, languageCode: String?)
  /// The holder of a canceled handle asked for the number again, while the code is valid for others. Sends the same
  /// code once more when that is due and allowed.
  case reopened(sends: Bool, languageCode: String?)
  /// A worker reported the outcome of an SMS.
  case jobFinished(JobReport)
  /// A provider reported on the delivery of an SMS that it accepted.
  case deliveryReported(DeliveryReport)
  /// A holder requests the comparison of a code. Counts the check, and only then requests the comparison.
  case checkRequested
  /// The comparison requested by ``checkRequested`` was made.
  case codeCompared(matches: Bool)
  case cancelRequested
  /// Its code can be neither compared nor sent again, because its pepper or fixed code is no longer configured.
  case codeLost
  /// A new verification begins in its place, because too little of its lifetime is left to send its code again.
  case replaced
  /// The deadline may have passed.
  case deadlinePassed
}
