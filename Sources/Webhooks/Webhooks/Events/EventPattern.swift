import CountersignMessages

/// Types of events that a webhook takes: `verification.approved`, all of a family (`account.*`), or all (`*`).
struct EventPattern: Sendable, Hashable {
  private static let maxBytes = 64

  let text: String
  /// Beginning of the types of a family, with its dot. Empty for all. `nil` for one type.
  private let family: String?

  init?(_ text: String) {
    let words = text.split(separator: ".", omittingEmptySubsequences: false)
    let names = words.last == "*" ? words.dropLast() : words[...]
    guard text.utf8.count <= Self.maxBytes, (1...2).contains(words.count), !(words.count == 1 && names.count == 1),
      names.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Self.isLetter) })
    else { return nil }
    self.text = text
    family = words.last == "*" ? String(text.dropLast()) : nil
  }

  func matches(_ type: MessageType) -> Bool { family.map { type.name.hasPrefix($0) } ?? (type.name == text) }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
}
