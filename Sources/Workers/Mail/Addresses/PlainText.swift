import JobEngine

/// What may stand in the texts of a mail.
enum PlainText {
  /// One line of print: no controls, no line breaks, nothing that turns the direction of what follows.
  static func isLine(_ text: String) -> Bool { PrintedText.isCleanLine(text) }

  /// Lines of print, with tabs; a lone CR or LF counts as a line break.
  static func isText(_ text: String) -> Bool { PrintedText.isClean(text) }

  /// An `https` address of visible ASCII characters that can stand in a text, an attribute and between angle brackets.
  static func isLink(_ text: String) -> Bool {
    let scheme = "https://"
    guard text.utf8.count <= maxLinkBytes, text.hasPrefix(scheme) else { return false }
    let rest = text.dropFirst(scheme.count)
    let host = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" && $0 != ":" }
    return MailAddress.isDomain(host.lowercased())
      && rest.utf8.allSatisfy { (0x21...0x7E).contains($0) && !#"<>"\^`{|},"#.utf8.contains($0) }
  }

  /// A line of a mail has 998 characters at most (RFC 5322, 2.1.1).
  static let maxLinkBytes = 900
}
