public import CountersignTelemetry

/// Command `number.forget`: erases what the coordinator holds about a phone number.
///
/// A running verification is canceled first. Messages that wait to be published stay until they are. A command of
/// operators, see ``ListConversions``, and of `accounts`, which names all that narrows it: a number is taken from an
/// account, and its next owner may already be signing in. Recorded replies stay for the same reason.
public struct ForgetNumber: Command, Hashable {
  public typealias Reply = NumberForgotten
  public static let type = MessageType("number.forget")

  /// E.164.
  public var phoneNumber: String
  /// Verifications that began at this time or later stay. Absent, none does.
  public var startedBefore: UnixTime?
  /// Apps whose verifications go. Absent, those of all.
  public var apps: [String]?
  /// Whether the counters of limits stay: otherwise a deleted account would begin with fresh ones.
  public var keepsLimits: Bool?

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
