/// An event from the broker, copied out of the library's memory.
enum ChannelEvent {
  /// A complete message: delivered, returned or fetched.
  case content(FrameAssembler.Content)
  /// `basic.ack` or `basic.nack` of publishes.
  case confirm(tag: UInt64, multiple: Bool, isAck: Bool)
  /// `basic.cancel`: the broker canceled the consumer.
  case consumerCanceled
  case blocked(reason: String)
  case unblocked
  /// The answer to a call.
  case reply(Reply)

  /// Answers of the broker with the fields that their callers need.
  enum Reply: Equatable {
    case ok(method: UInt32)
    case queueDeclared(name: String, messages: Int, consumers: Int)
    case messages(Int)
    case consuming(tag: String)
    case nothingToGet
  }
}
