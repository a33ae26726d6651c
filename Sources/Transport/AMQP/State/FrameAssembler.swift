/// Assembles messages from a method frame, a header frame and any number of body frames.
///
/// A body beyond the limit is counted but not kept.
struct FrameAssembler {
  enum Start: Equatable {
    case delivery(consumer: String, number: UInt64, isRedelivered: Bool, exchange: String, routingKey: String)
    case returned(code: Int, text: String, exchange: String, routingKey: String)
    case got(number: UInt64, isRedelivered: Bool, exchange: String, routingKey: String, remaining: Int)
  }

  struct Content: Equatable {
    var start: Start
    var message: Message
    var bodyBytes: UInt64
    var isOversize: Bool
  }

  private enum State {
    case idle
    case header(Start)
    case body(Content, missing: UInt64)
  }

  private let maxBodyBytes: Int
  private var state = State.idle

  init(maxBodyBytes: Int) { self.maxBodyBytes = maxBodyBytes }

  mutating func begin(_ start: Start) throws(AMQPError) {
    guard case .idle = state else { throw Self.unexpected("a method inside a message") }
    state = .header(start)
  }

  mutating func header(_ message: Message, bodyBytes: UInt64) throws(AMQPError) -> Content? {
    guard case .header(let start) = state else { throw Self.unexpected("a header frame without a method") }
    var content = Content(
      start: start, message: message, bodyBytes: bodyBytes, isOversize: bodyBytes > UInt64(maxBodyBytes))
    state = .idle
    guard bodyBytes > 0 else { return content }
    if !content.isOversize { content.message.body.reserveCapacity(Int(bodyBytes)) }
    state = .body(content, missing: bodyBytes)
    return nil
  }

  mutating func body(_ bytes: UnsafeRawBufferPointer) throws(AMQPError) -> Content? {
    guard case .body(var content, let missing) = state else {
      throw Self.unexpected("a body frame without a header")
    }
    guard bytes.count <= missing else { throw Self.unexpected("a body longer than announced") }
    state = .idle  // The body must have one owner, or the append below copies it.
    if !content.isOversize { content.message.body.append(contentsOf: bytes) }
    guard UInt64(bytes.count) < missing else { return content }
    state = .body(content, missing: missing - UInt64(bytes.count))
    return nil
  }

  private static func unexpected(_ what: String) -> AMQPError {
    AMQPError(.protocolViolation, "the broker sent \(what)")
  }
}
