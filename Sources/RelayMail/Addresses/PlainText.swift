import WorkerRuntime

/// What may stand in the texts of a mail.
enum PlainText {
  /// One line of print: no controls, no line breaks, nothing that turns the direction of what follows.
  static func isLine(_ text: String) -> Bool { text.unicodeScalars.allSatisfy(isPrintable) }

  /// Lines of print, with tabs; a lone CR or LF counts as a line break.
  static func isText(_ text: String) -> Bool { PrintedText.isClean(text) }

  /// Format characters are refused, but not the joiners, which Devanagari, Bengali, Arabic script and emoji need, nor the marks of
  /// direction, which Hebrew and Arabic need beside digits and Latin words. A mark turns nothing beyond its neighbours, as
  /// overrides, embeddings and isolates do.
  private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    if (0x20...0x7E).contains(scalar.value) { return true }
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: return false
    case .format: return allowedFormats.contains(scalar)
    default: return true
    }
  }

  /// Zero width joiner and non-joiner; the marks of direction: left-to-right, right-to-left, Arabic letter.
  private static let allowedFormats: Set<Unicode.Scalar> = [
    "\u{200C}", "\u{200D}", "\u{200E}", "\u{200F}", "\u{061C}",
  ]

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
