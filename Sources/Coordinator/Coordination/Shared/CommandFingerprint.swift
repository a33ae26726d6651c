import CountersignCryptography
import CountersignEncoding

/// Makes fingerprints of commands: they distinguish orders under the same sender and `message_id`.
///
/// The body's bytes are not part of one, since a sender that tries again may write the same JSON in another order and
/// seal the same secret anew.
enum CommandFingerprint {
  /// Hash of an order. What a quick search could guess must not be among the parts, or has to be keyed.
  /// - Parameters:
  ///   - name: type of the command.
  ///   - parts: fields that distinguish the order, in a fixed order.
  static func hash(_ name: String, _ parts: [String]) -> [UInt8] {
    SHA256.hash(Array(([name] + parts).joined(separator: "\u{0}").utf8))
  }

  /// A token as a part.
  /// - Parameter isFormer: whether to use the hash under the previous pepper.
  static func text(_ hash: TokenHash, isFormer: Bool) -> String {
    Base64URL.encode(isFormer ? hash.earlier ?? hash.current : hash.current)
  }
}
