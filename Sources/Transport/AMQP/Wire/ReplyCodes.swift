/// Reply codes of AMQP 0-9-1, section 1.2, and the errors they stand for.
enum ReplyCodes {
  static let connectionForced = 320
  static let accessRefused = 403
  static let notFound = 404
  static let resourceLocked = 405
  static let notAllowed = 530

  /// Whether the broker may have closed the connection because of a publication: it could not read the frames, does not
  /// know a method or flag, or failed while processing them (541, internal-error: the channel's process ended). All
  /// other codes are about an operator, this client's rights, or problems of the broker itself.
  static func mayBeDueToPublication(_ reply: Int?) -> Bool {
    switch reply {
    case 501, 502, 503, 504, 505, 540, 541: true
    default: false
    }
  }

  static func error(_ reply: Int, _ text: String) -> AMQPError {
    AMQPError(code(reply, text), "the broker says \(text.isEmpty ? "\(reply)" : text)", replyCode: reply)
  }

  private static func code(_ reply: Int, _ text: String) -> AMQPError.Code {
    switch reply {
    case 311: .tooLarge
    case 312, 313, notFound: .notFound
    case connectionForced: .connectionLost  // An operator closed it, or the broker stops.
    case 402, accessRefused: .accessRefused
    case resourceLocked: .resourceLocked
    case 406: .preconditionFailed
    case 501...505: .protocolViolation
    case notAllowed: text.contains("not found") ? .notFound : .accessRefused
    case 506, 541: .connectionLost
    default: .protocolViolation
    }
  }
}

enum QueueMissing {
  static func explain(_ error: AMQPError, queue: String) -> AMQPError {
    // A queue whose node is down has the same code, but declaring it does not help.
    guard error.replyCode == ReplyCodes.notFound, error.message.contains("no queue") else { return error }
    return AMQPError(
      .notFound, "queue '\(queue)' is missing: run countersign topology apply", replyCode: error.replyCode)
  }
}
