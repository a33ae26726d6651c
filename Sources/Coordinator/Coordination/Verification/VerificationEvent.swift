/// What can happen to a verification.
public enum VerificationEvent: Sendable, Hashable {
  /// It begins. The first event, and the only time that this one does anything.
  case started
  /// Its number was asked for again. Sends the same code once more when that is due.
  case startedAgain(languageCode: String?)
  /// Somebody else asked for its number, and gets a handle of its own. Sends the same code once more when that is due and allowed.
  case joined(Handle, sends: Bool, languageCode: String?)
  /// The holder of a handle that it had canceled asked for the number again, while the code lives for others. Sends the same code once more
  /// when that is due and allowed.
  case reopened(sends: Bool, languageCode: String?)
  /// A worker reported the outcome of a message.
  case jobFinished(JobReport)
  /// A provider reported what became of a message that it took.
  case deliveryReported(DeliveryReport)
  /// Somebody wants a code compared. Counts the check, and only then asks for the comparison.
  case checkRequested
  /// The comparison that ``checkRequested`` asked for was made.
  case codeCompared(matches: Bool)
  case cancelRequested
  /// Its code can be neither compared nor sent again, because what it was made with is gone from the configuration.
  case codeLost
  /// A new one begins in its place, because too little of its time is left to send its code again.
  case replaced
  /// Its time may be over.
  case deadlinePassed
}
