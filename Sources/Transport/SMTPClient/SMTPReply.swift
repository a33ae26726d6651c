/// Reply of an SMTP server, with all its lines.
public struct SMTPReply: Sendable, Hashable {
  /// Three digits (RFC 5321, 4.2).
  public let code: Int
  /// The enhanced status code, `5.1.1` (RFC 3463), where the server gives one.
  public let enhancedCode: String?
  /// The text without its codes, one line after another. It may repeat addresses, so it is not for logs.
  public let text: String

  public init(code: Int, enhancedCode: String? = nil, text: String = "") {
    self.code = code
    self.enhancedCode = enhancedCode
    self.text = text
  }

  /// Reads the lines of a reply, `250-…` or `250 …`. `nil` when they are none.
  init?(lines: [String]) {
    guard let last = lines.last, let code = Self.code(last) else { return nil }
    self.code = code
    var enhanced: String?
    text = lines.map { line in
      let rest = line.dropFirst(4)
      guard let first = rest.split(separator: " ", maxSplits: 1).first, Self.isEnhanced(first, of: code) else {
        return String(rest)
      }
      enhanced = enhanced ?? String(first)
      return String(rest.dropFirst(first.count).drop { $0 == " " })
    }.joined(separator: "\n")
    enhancedCode = enhanced
  }

  static func code(_ line: String) -> Int? {
    let digits = line.utf8.prefix(3)
    guard digits.count == 3, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(line.prefix(3))
  }

  /// Class, subject and detail: `5.1.1`. The class is that of the code.
  private static func isEnhanced(_ text: Substring, of code: Int) -> Bool {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 3 && parts[0] == "\(code / 100)"
      && parts.dropFirst().allSatisfy {
        (1...3).contains($0.utf8.count) && $0.utf8.allSatisfy { (0x30...0x39).contains($0) }
      }
  }

  /// `550 5.1.1`: the part that may be shown.
  public var codes: String { enhancedCode.map { "\(code) \($0)" } ?? "\(code)" }
}
