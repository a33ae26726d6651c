import SQLite

/// A table as every database of a store has it, without what belongs to the process that wrote a row.
struct CopiedTable: Sendable {
  /// Times are integers.
  enum Form {
    case integer, text, bytes
  }

  struct Column: Sendable {
    let name: String
    let form: Form
    /// Expression of a query, with the alias of its table.
    let source: String
  }

  let name: String
  let columns: [Column]
  /// Number of the first columns, which order the rows and are unique.
  let keyCount: Int
  /// Whether rows belong to a record, under whose number they are kept in SQLite. One that has lost its record leads
  /// nowhere, and stays behind.
  let leadsToRecord: Bool

  private init(_ name: String, keyCount: Int = 1, leadsToRecord: Bool = false, _ columns: [Column]) {
    (self.name, self.columns, self.keyCount, self.leadsToRecord) = (name, columns, keyCount, leadsToRecord)
  }

  private static func integer(_ name: String) -> Column { Column(name: name, form: .integer, source: "t.\(name)") }
  private static func text(_ name: String) -> Column { Column(name: name, form: .text, source: "t.\(name)") }
  private static func bytes(_ name: String) -> Column { Column(name: name, form: .bytes, source: "t.\(name)") }
  private static let recordID = Column(name: "id", form: .text, source: "r.id")

  /// In the order in which they are copied: records come before their keys.
  static let all = [
    CopiedTable(
      "store_inbox",
      [bytes("key"), integer("state"), bytes("fingerprint"), text("type"), bytes("reply"), integer("keep")]),
    CopiedTable(
      "store_record", keyCount: 2,
      [
        text("id"), text("kind"), integer("version"), integer("due"), integer("discard"), integer("format"),
        bytes("keys"), bytes("body"),
      ]),
    CopiedTable("store_unique", leadsToRecord: true, [bytes("key"), recordID]),
    CopiedTable("store_group", keyCount: 2, leadsToRecord: true, [bytes("key"), text("id")]),
    CopiedTable("store_counter", keyCount: 2, [bytes("key"), integer("slot"), integer("count"), integer("keep")]),
    // Without the owner: the process that opens the copy claims all, as of a process that ended.
    CopiedTable(
      "store_outbox",
      [
        integer("number"), integer("retry"), integer("discard"), bytes("hold"), integer("tries"), text("type"),
        bytes("content"),
      ]),
  ]

  var isOutbox: Bool { name == "store_outbox" }

  // MARK: SQL

  var names: String { columns.map(\.name).joined(separator: ", ") }
  private var sources: String { columns.map(\.source).joined(separator: ", ") }
  private var keys: String { columns.prefix(keyCount).map(\.source).joined(separator: ", ") }

  func page(joining join: String, isFirst: Bool) -> String {
    let values = (1...keyCount).map { "$\($0)" }.joined(separator: ", ")
    return """
      SELECT \(sources) FROM \(name) t\(leadsToRecord ? " JOIN store_record r ON \(join)" : "")
      \(isFirst ? "" : "WHERE (\(keys)) > (\(values))") ORDER BY \(keys) LIMIT $\(isFirst ? 1 : keyCount + 1)
      """
  }

  func last(joining join: String) -> String {
    """
    SELECT \(keys) FROM \(name) t\(leadsToRecord ? " JOIN store_record r ON \(join)" : "")
    ORDER BY \(columns.prefix(keyCount).map { $0.source + " DESC" }.joined(separator: ", ")) LIMIT 1
    """
  }

  func count(joining join: String) -> String {
    "SELECT count(*) FROM \(name) t\(leadsToRecord ? " JOIN store_record r ON \(join)" : "")"
  }
}
