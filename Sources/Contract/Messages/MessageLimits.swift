/// The bounds of the contract.
public enum MessageLimits {
  /// Bytes of a body. A larger one is refused on both sides.
  public static let maxBodyBytes = 64 * 1024
  /// Bytes of an ID, a type or a routing key: AMQP's short strings have one byte for their length.
  public static let maxShortStringBytes = 255
  /// Bytes of a text in a header (`x-last-error`); a longer one is cut. All headers of a message fit into one frame.
  public static let maxHeaderTextBytes = 512
  /// Bytes of all headers of a message that is taken. AMQP's publisher takes twice as much, which leaves room for what is added on the way:
  /// by retries, by the broker, by the dead letters.
  public static let maxHeaderBytes = 32 * 1024
}
