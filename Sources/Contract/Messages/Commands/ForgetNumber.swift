/// Has the coordinator erase what it holds about a phone number: `number.forget`.
///
/// A verification that lives is canceled first. What waits to be published stays until it is. A command of operators, see
/// ``ListConversions``.
public struct ForgetNumber: Command, Hashable {
  public typealias Reply = NumberForgotten
  public static let type = MessageType("number.forget")

  /// E.164.
  public var phoneNumber: String

  public init(phoneNumber: String) {
    self.phoneNumber = phoneNumber
  }
}

/// The reply to `number.forget`: how much was erased. It does not repeat the number.
public struct NumberForgotten: MessageBody, Hashable {
  public static let type = MessageType("number.forgotten")

  /// Verifications, those that were canceled included.
  public var verifications: Int
  /// Verifications that lived.
  public var canceled: Int
  /// Recorded replies: the commands that they belong to would be carried out anew.
  public var replies: Int
  /// Starts that waited for reCAPTCHA; nobody answers them any more.
  public var waiting: Int
  /// Counts of limits.
  public var counts: Int

  public init(verifications: Int, canceled: Int, replies: Int, waiting: Int, counts: Int) {
    self.verifications = verifications
    self.canceled = canceled
    self.replies = replies
    self.waiting = waiting
    self.counts = counts
  }
}
