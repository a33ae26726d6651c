public import CountersignAMQP

/// Resolves the sender of a message: the broker user that it came from first.
///
/// The broker admits only the connection's user as `user_id`. A message that is published again names its first sender
/// in `x-sender`, which any user can write, so it is trusted only from users that publish messages of others.
public struct SenderRule: Sendable, Hashable {
  /// Sender of a message without a trusted user. It has the rights of a service, and no queue of its own.
  public static let unnamed = "unnamed"

  /// Users, besides the operator, whose `x-sender` is trusted.
  private let trusted: [String]

  /// Rule of a work queue: its consumer publishes messages again that it delays, continues or dead-letters.
  /// - Parameter user: user that consumes the queue; `nil` if unknown.
  public static func queue(consumedBy user: String?) -> SenderRule {
    SenderRule(trusted: user.map { [$0] } ?? [])
  }

  /// Rule of results: each repeats the sender of its job.
  /// - Parameter users: users of the workers of the job's type.
  public static func result(reportedBy users: [String]) -> SenderRule {
    SenderRule(trusted: users)
  }

  /// Sender of a message.
  /// - Parameters:
  ///   - userID: `user_id` of the message.
  ///   - stated: `x-sender` of the message.
  public func sender(userID: String?, stated: String?) -> String {
    guard let userID, !userID.isEmpty else { return Self.unnamed }
    guard let stated, userID == Topology.Users.operator || trusted.contains(userID) else { return userID }
    return stated.isEmpty ? Self.unnamed : stated
  }

  /// Sender of a message whose envelope was read.
  public func sender(of envelope: Envelope) -> String {
    sender(userID: envelope.userID, stated: envelope.statedSender)
  }

  /// Sender of a message that may break the contract. ``unnamed`` if the text cannot be a user's name.
  public func sender(of message: Message) -> String {
    let stated = message.headers[MessageHeader.sender].map { $0.stringValue ?? "" }
    let sender = sender(userID: message.userID, stated: stated)
    return Message.isShortText(sender) ? sender : Self.unnamed
  }
}
