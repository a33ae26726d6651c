/// Display of personal data to operators: in dead letters, and wherever a value with a number prints itself. Logs,
/// metrics and errors name no numbers.
public enum Redaction {
  /// Replacement for a secret.
  public static let placeholder = "<redacted>"

  /// A phone number with its middle hidden: `+14155550123` becomes `+1415•••••23`.
  ///
  /// Four leading and two trailing digits stay, which shows country and area. Of a number with fewer than nine digits
  /// only the first two stay, and of text that is not a phone number nothing does.
  public static func phoneNumber(_ text: String) -> String {
    let isInternational = text.utf8.first == UInt8(ascii: "+")
    let digits = text.utf8.dropFirst(isInternational ? 1 : 0)
    guard digits.count >= 3, digits.count <= longestNumber,
      digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return hidden }
    let (leading, trailing) = digits.count >= 9 ? (4, 2) : (2, 0)
    var result = isInternational ? "+" : ""
    result.append(contentsOf: String(decoding: digits.prefix(leading), as: UTF8.self))
    result.append(contentsOf: String(repeating: "•", count: digits.count - leading - trailing))
    result.append(contentsOf: String(decoding: digits.suffix(trailing), as: UTF8.self))
    return result
  }

  /// Digits of the longest number that is shown at all. E.164 allows 15; national prefixes may add a few.
  private static let longestNumber = 20
  private static let hidden = "•••"
}

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
