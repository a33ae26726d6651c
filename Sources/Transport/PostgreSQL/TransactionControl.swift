import CountersignTelemetry

/// Statements that a body must not run: they would end or nest its transaction, change the connection for everybody after
/// it, or have an answer that is not a result.
enum TransactionControl {
  private static let maxWordBytes = 16
  private static let words: Set<String> = [
    "ABORT", "BEGIN", "COMMIT", "COPY", "DEALLOCATE", "DISCARD", "END", "LISTEN", "PREPARE", "RELEASE", "RESET",
    "ROLLBACK", "SAVEPOINT", "START",
  ]

  /// A guard against mistakes, not against attacks: SQL is the program's own.
  static func refuse(in sql: String) throws(StoreError) {
    let text = sql.utf8.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
    let word = text.prefix(maxWordBytes).prefix { isPartOfWord($0) }
    guard words.contains(String(decoding: word, as: UTF8.self).uppercased()) else { return }
    throw StoreError(.misuse, "a body must leave transactions, settings and COPY alone: \(sql.prefix(80))")
  }

  private static func isPartOfWord(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
      || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
