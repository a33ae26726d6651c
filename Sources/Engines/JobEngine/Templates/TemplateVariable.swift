import ServiceRuntime

/// Variable of a template, by its name.
public struct TemplateVariable: Sendable, Hashable {
  /// Name between the braces.
  public let name: String

  public init(_ name: String) {
    self.name = name
  }

  public static let code = Self("code")
  public static let link = Self("link")
  public static let appName = Self("appName")
  public static let domain = Self("domain")
  public static let androidHash = Self("androidHash")
  public static let change = Self("change")
  public static let secondFactor = Self("secondFactor")

  /// Variables with a meaning of their own, in SMS or in mail. None can be declared.
  static let builtIn: Set<Self> = [.code, .link, .appName, .domain, .androidHash, .change, .secondFactor]
}

extension TemplateVariable: CustomStringConvertible {
  /// `{code}`.
  public var description: String { "{\(name)}" }
}

/// Problem of a value, without the value. `nil` if it has none.
public typealias TemplateRule = @Sendable (_ value: String) -> String?

/// Rules that several variables share.
public enum TemplateRules {
  static let maxCodeLength = 16

  /// Rule of a code.
  public static func code(_ value: String) -> String? {
    value.isMatched(by: { $0.isLetterOrDigit || $0 == "-" }, length: 1...maxCodeLength)
      ? nil : "must be 1 to \(maxCodeLength) letters (A-Z), digits or hyphens"
  }

  /// Rule of a name, or of another part of a sentence. A line break could write a last line of its own, which an iPhone
  /// would fill in, and a direction mark could move the words around the value.
  ///
  /// - Parameter maxLength: maximum length in Unicode scalars.
  public static func line(_ value: String, maxLength: Int) -> String? {
    let scalars = value.unicodeScalars
    let isFine =
      (1...maxLength).contains(scalars.count) && PrintedText.isCleanLine(value)
      && !scalars.contains(where: isDirectionMark) && !scalars.allSatisfy(\.properties.isWhitespace)
    return isFine ? nil : "must be 1 to \(maxLength) printable characters without line breaks or direction marks"
  }

  private static func isDirectionMark(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "\u{200E}" || scalar == "\u{200F}" || scalar == "\u{061C}"
  }
}
