/// Action of the owner of a verification after an event; actions are taken in order.
public enum VerificationAction: Sendable, Hashable {
  /// A published change.
  public enum Announcement: String, Sendable, CaseIterable {
    case started, sent, delivered, undelivered, approved, failed, expired, canceled
  }

  /// Enqueue the SMS with this number, from 1. Its code is always the same.
  case sendMessage(number: Int)
  /// - Parameter to: the handle whose holder is notified.
  case announce(Announcement, to: Int = PhoneVerification.firstHandle)
  /// Compare the code and apply ``VerificationEvent/codeCompared(matches:)``.
  case compareCode
  /// Answer a start.
  case answerStarted(resent: Bool)
  /// Answer a check: the number is proven.
  case answerApproved
  /// Answer a cancellation.
  case answerCanceled
  /// Refuse a check or a cancellation.
  case refuse(VerificationRefusal)
}
