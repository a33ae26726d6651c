/// What the broker sent, copied out of the library's memory.
enum ChannelEvent {
  /// A whole message: delivered, returned or fetched.
  case content(FrameAssembler.Content)
  /// `basic.ack` or `basic.nack` of publishes.
  case confirm(tag: UInt64, multiple: Bool, isAck: Bool)
  /// `basic.cancel`: the broker ends the consumer.
  case consumerCanceled
  case blocked(reason: String)
  case unblocked
  /// The answer to a call.
  case reply(Reply)

  /// Answers of the broker, each with what its caller wants to know.
  enum Reply: Equatable {
    case ok(method: UInt32)
    case queueDeclared(name: String, messages: Int, consumers: Int)
    case messages(Int)
    case consuming(tag: String)
    case nothingToGet
  }
}
