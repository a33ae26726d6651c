import JobEngine

/// A mail that was checked and is ready to be written and signed.
public struct OutgoingMail: Sendable {
  public let to: MailAddress
  public let sender: Sender
  public let text: MailText
  /// Address that ends the reader's subscription with one POST.
  public let unsubscribeURL: String?

  public init(to: MailAddress, sender: Sender, text: MailText, unsubscribeURL: String? = nil) {
    self.to = to
    self.sender = sender
    self.text = text
    self.unsubscribeURL = unsubscribeURL
  }
}

extension OutgoingMail: CustomStringConvertible, CustomReflectable {
  public var description: String { "<mail to \(to)>" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The text of a mail, as its reader sees it.
public struct MailText: Sendable, Hashable {
  /// One line.
  public let subject: String
  public let text: String
  /// An HTML document that says the same.
  public let html: String?

  public init(subject: String, text: String, html: String? = nil) {
    self.subject = subject
    self.text = text
    self.html = html
  }
}

extension MailText: CustomStringConvertible, CustomReflectable {
  /// It may hold codes and links.
  public var description: String { "<mail text>" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

enum MailPlainText {
  static func isLine(_ text: String) -> Bool { PrintedText.isCleanLine(text) }

  /// A lone CR or LF counts as a line break.
  static func isText(_ text: String) -> Bool { PrintedText.isClean(text) }

  /// Whether a text is an `https` address of visible ASCII characters that can stand in a text, in an attribute and
  /// between angle brackets.
  static func isLink(_ text: String) -> Bool {
    let scheme = "https://"
    guard text.utf8.count <= maxLinkBytes, text.hasPrefix(scheme) else { return false }
    let rest = text.dropFirst(scheme.count)
    let host = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" && $0 != ":" }
    return MailAddress.isDomain(host.lowercased()) && isPlain(rest)
  }

  /// Whether a text is such an address of `http` on the reader's own machine, as development has them: nothing leaves
  /// it.
  static func isLocalLink(_ text: String) -> Bool {
    guard text.utf8.count <= maxLinkBytes,
      let start = ["http://localhost", "http://127.0.0.1"].first(where: text.hasPrefix)
    else { return false }
    let rest = text.dropFirst(start.count)
    let path = rest.first == ":" ? rest.dropFirst().drop { ("0"..."9").contains($0) } : rest
    return path.first == "/" && isPlain(path)
  }

  private static func isPlain(_ text: Substring) -> Bool {
    text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !#"<>"\^`{|},"#.utf8.contains($0) }
  }

  /// A line of a mail has at most 998 characters (RFC 5322, 2.1.1).
  static let maxLinkBytes = 900
}
