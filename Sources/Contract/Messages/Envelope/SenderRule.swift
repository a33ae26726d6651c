public import CountersignAMQP

/// Resolution of a message's sender: the user of the broker that it came from, whoever has published it again since.
///
/// The broker lets only the user of the connection into `user_id`. What is published again (by a retry, a further stage, as a dead letter, in
/// a redrive) names its first sender in `x-sender`, which anybody can write: it is believed from those users only who publish others' messages.
public struct SenderRule: Sendable, Hashable {
  /// The sender of a message that nobody vouches for. It has the rights of a service, and no queue of its own.
  public static let unnamed = "unnamed"

  /// The users, beside the operator, whose `x-sender` is believed.
  private let believed: [String]

  /// The rule of a work queue: its consumer publishes again what it puts off, continues or buries.
  /// - Parameter user: the user that consumes the queue; nil when that is not known.
  public static func queue(consumedBy user: String?) -> SenderRule {
    SenderRule(believed: user.map { [$0] } ?? [])
  }

  /// The rule of results: each repeats the sender of its job.
  /// - Parameter users: those of the workers of the job's type.
  public static func result(reportedBy users: [String]) -> SenderRule {
    SenderRule(believed: users)
  }

  /// The sender of a message.
  /// - Parameters:
  ///   - userID: the message's `user_id`.
  ///   - stated: the message's `x-sender`.
  public func sender(userID: String?, stated: String?) -> String {
    guard let userID, !userID.isEmpty else { return Self.unnamed }
    guard let stated, userID == Topology.Users.operator || believed.contains(userID) else { return userID }
    return stated.isEmpty ? Self.unnamed : stated
  }

  /// The sender of a message whose envelope was read.
  public func sender(of envelope: Envelope) -> String {
    sender(userID: envelope.userID, stated: envelope.statedSender)
  }

  /// The sender of a message that may break the contract. What cannot be a user's name is nobody's.
  public func sender(of message: Message) -> String {
    let stated = message.headers[MessageHeader.sender].map { $0.stringValue ?? "" }
    let sender = sender(userID: message.userID, stated: stated)
    return Message.isShortText(sender) ? sender : Self.unnamed
  }
}
