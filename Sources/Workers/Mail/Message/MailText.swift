/// What a reader gets to see.
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
