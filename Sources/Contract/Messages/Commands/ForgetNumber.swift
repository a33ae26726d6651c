/// Command `number.forget`: erases everything that the coordinator holds about a phone number.
///
/// A running verification is canceled first. Messages that wait to be published stay until they are. A command of
/// operators, see ``ListConversions``.
public struct ForgetNumber: Command, Hashable {
  public typealias Reply = NumberForgotten
  public static let type = MessageType("number.forget")

  /// E.164.
  public var phoneNumber: String

  public init(phoneNumber: String) {
    self.phoneNumber = phoneNumber
  }
}

/// Reply to `number.forget`: the counts of what was erased. It does not repeat the number.
public struct NumberForgotten: MessageBody, Hashable {
  public static let type = MessageType("number.forgotten")

  /// Verifications, including the canceled ones.
  public var verifications: Int
  /// Verifications that were running.
  public var canceled: Int
  /// Recorded replies: a repetition of their commands takes effect again.
  public var replies: Int
  /// Starts that waited for reCAPTCHA. They remain unanswered.
  public var waiting: Int
  /// Counters of limits.
  public var counts: Int

  public init(verifications: Int, canceled: Int, replies: Int, waiting: Int, counts: Int) {
    self.verifications = verifications
    self.canceled = canceled
    self.replies = replies
    self.waiting = waiting
    self.counts = counts
  }
}
