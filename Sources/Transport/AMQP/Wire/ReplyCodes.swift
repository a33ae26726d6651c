/// Reply codes of AMQP 0-9-1, section 1.2, with what they mean here.
enum ReplyCodes {
  static let connectionForced = 320
  static let accessRefused = 403
  static let notFound = 404
  static let resourceLocked = 405
  static let notAllowed = 530

  /// Whether the broker may have closed the connection because of what was published on it: it could not read the frames, knows no
  /// such method or flag, or failed while it worked on them (541, internal-error: the channel's process ended). With the others it tells of an operator, of what this client may, or of trouble of its own.
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
    case connectionForced: .connectionLost  // connection-forced: an operator closed it, or the broker stops
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
