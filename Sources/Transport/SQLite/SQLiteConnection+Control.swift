import CountersignTelemetry

extension SQLiteConnection {
  /// Words that a body's statement must not begin with: they would end or nest the transaction that it shares with
  /// others, or change the connection for everybody after it.
  private static let control: [StaticString] = [
    "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "ATTACH", "DETACH", "VACUUM",
  ]

  /// A guard against mistakes, not against attacks: SQL is the program's own.
  static func refuseTransactionControl(in sql: String) throws(StoreError) {
    let text = sql.utf8.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
    for word in control where begins(text, with: word) {
      throw StoreError(.misuse, "a body must leave transactions alone: \(sql)")
    }
  }

  private static func begins(_ text: Substring.UTF8View, with word: StaticString) -> Bool {
    var index = text.startIndex
    for expected in UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount) {
      guard index < text.endIndex, text[index] & 0xDF == expected else { return false }
      index = text.index(after: index)
    }
    // A whole word: neither a letter, a digit nor an underscore follows.
    guard index < text.endIndex else { return true }
    let next = text[index]
    return !(UInt8(ascii: "a")...UInt8(ascii: "z")).contains(next | 0x20) && next != UInt8(ascii: "_")
      && !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next)
  }
}
