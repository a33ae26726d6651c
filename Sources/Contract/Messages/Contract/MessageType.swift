/// Type of a message with its version: `sms.dispatch.v1`.
public struct MessageType: Sendable, Hashable {
  /// Type without the version: `sms.dispatch`.
  public let name: String
  /// Version, from 1. A change that old receivers would misread gets a new one.
  public let version: Int
  /// Value of the AMQP property `type`.
  public let text: String

  /// - Parameters:
  ///   - name: type without the version.
  ///   - version: version, from 1.
  public init(_ name: String, version: Int = 1) {
    self.init(name, version, text: "\(name).v\(version)")
  }

  private init(_ name: String, _ version: Int, text: String) {
    self.name = name
    self.version = version
    self.text = text
  }

  /// Reads `name.v<number>`. `nil` for any other form.
  public init?(parsing text: String) {
    guard let dot = text.utf8.lastIndex(of: UInt8(ascii: ".")), dot > text.startIndex else { return nil }
    let suffix = text[text.index(after: dot)...]
    guard suffix.utf8.first == UInt8(ascii: "v"), let version = Int(suffix.dropFirst()), version >= 1,
      suffix.utf8.dropFirst().allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      suffix.utf8.dropFirst().first != UInt8(ascii: "0")
    else { return nil }
    self.init(String(text[..<dot]), version, text: text)
  }

  public static func == (left: MessageType, right: MessageType) -> Bool { left.text == right.text }

  public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension MessageType: CustomStringConvertible {
  public var description: String { text }
}
