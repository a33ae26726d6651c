/// What the owner of a verification has to do after an event, in this order.
public enum VerificationAction: Sendable, Hashable {
  /// Tells everybody of a change.
  public enum Announcement: String, Sendable, CaseIterable {
    case started, sent, delivered, undelivered, approved, failed, expired, canceled
  }

  /// Enqueue the message with this number, from 1. Its code is always the same.
  case sendMessage(number: Int)
  /// - Parameter to: the handle whose holder is told.
  case announce(Announcement, to: Int = PhoneVerification.firstHandle)
  /// Compare the code and apply ``VerificationEvent/codeCompared(matches:)``.
  case compareCode
  /// Answer a start.
  case answerStarted(resent: Bool)
  /// Answer a check: the number is proven.
  case answerApproved
  /// Answer a cancellation.
  case answerCanceled
  /// Answer a check or a cancellation: no.
  case refuse(VerificationRefusal)
}
