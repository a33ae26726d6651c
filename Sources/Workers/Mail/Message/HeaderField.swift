/// Header fields as they are sent (RFC 5322), folded, without the CRLF at their ends.
enum HeaderField {
  /// RFC 5322, 2.1.1.
  private static let columns = 78
  /// A longer one cannot be folded, and is encoded.
  private static let longestWord = 76

  static func text(_ name: String, _ value: String) -> String {
    if isPlain(value) { return folded(name, value.split(separator: " ", omittingEmptySubsequences: false)) }
    let words = EncodedWords.encode(value, firstRoom: columns - name.utf8.count - 2)
    return "\(name): " + words.joined(separator: "\r\n ")
  }

  static func address(_ name: String, _ address: MailAddress, displayName: String? = nil) -> String {
    guard let displayName, !displayName.isEmpty else { return "\(name): \(address.text)" }
    let phrase: String
    if displayName.utf8.allSatisfy({ (0x20...0x7E).contains($0) }),
      displayName.utf8.count <= longestWord - name.utf8.count - 4
    {
      phrase = "\"" + displayName.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "\""
    } else {
      phrase = EncodedWords.encode(displayName, firstRoom: columns - name.utf8.count - 2).joined(separator: "\r\n ")
    }
    let line = "\(name): \(phrase)"
    let column =
      line.utf8.count - (line.utf8.lastIndex(of: 10).map { line.utf8.distance(from: line.startIndex, to: $0) } ?? -1)
    let fits = column + address.text.utf8.count + 3 <= columns
    return line + (fits ? " " : "\r\n ") + "<\(address.text)>"
  }

  /// A structured value made here, which needs no folding or encoding.
  static func plain(_ name: String, _ value: String) -> String { "\(name): \(value)" }

  /// Whether a text can be sent as it is. Readers would decode a text that looks like an encoded-word, and spaces at
  /// the ends or in a row may be lost.
  private static func isPlain(_ value: String) -> Bool {
    value.utf8.allSatisfy { (0x20...0x7E).contains($0) } && !value.contains("=?") && !value.contains("  ")
      && value.first != " " && value.last != " "
      && value.split(separator: " ").allSatisfy { $0.utf8.count <= longestWord }
  }

  private static func folded(_ name: String, _ words: [Substring]) -> String {
    var text = "\(name):"
    var column = text.utf8.count
    for word in words {
      // Some servers lose a field whose first line has nothing but its name.
      if column + 1 + word.utf8.count > columns, column > name.utf8.count + 1 {
        text += "\r\n"
        column = 0
      }
      text += " \(word)"
      column += 1 + word.utf8.count
    }
    return text
  }
}
