/// Text that must not be seen: a password, a key, a code, a token.
///
/// Printing, interpolating, dumping or logging it gives `<redacted>`; only ``reveal()`` gives the text. It is
/// deliberately neither `Encodable`, `Hashable` nor a log value, so that most ways to leak one do not compile.
public struct Secret: Sendable {
  private let text: String

  public init(_ text: String) {
    self.text = text
  }

  /// The text itself. Every call of this is a place to look at in a review.
  public func reveal() -> String { text }

  /// Whether there is no text.
  public var isEmpty: Bool { text.isEmpty }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { Redaction.placeholder }
  public var debugDescription: String { Redaction.placeholder }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
