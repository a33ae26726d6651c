/// What a message is and which version of it: `sms.dispatch.v1`.
public struct MessageType: Sendable, Hashable {
  /// The type without its version: `sms.dispatch`.
  public let name: String
  /// The version, from 1. A change that old receivers would misread gets a new one.
  public let version: Int

  /// - Parameters:
  ///   - name: the type without its version.
  ///   - version: the version, from 1.
  public init(_ name: String, version: Int = 1) {
    self.name = name
    self.version = version
  }

  /// Reads `name.v<number>`; `nil` when the text is not of this form.
  public init?(parsing text: String) {
    guard let dot = text.utf8.lastIndex(of: UInt8(ascii: ".")), dot > text.startIndex else { return nil }
    let suffix = text[text.index(after: dot)...]
    guard suffix.utf8.first == UInt8(ascii: "v"), let version = Int(suffix.dropFirst()), version >= 1,
      suffix.utf8.dropFirst().allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      suffix.utf8.dropFirst().first != UInt8(ascii: "0")
    else { return nil }
    self.init(String(text[..<dot]), version: version)
  }

  /// The AMQP property `type`.
  public var text: String { "\(name).v\(version)" }
}

extension MessageType: CustomStringConvertible {
  public var description: String { text }
}
