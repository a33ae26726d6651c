import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import RecordStore
import SQLite
import ServiceRuntime

/// The processes that had an SQLite file one after the other: this one, and the last one before it.
final class SQLiteMembers: MemberRegister {
  private let database: Database
  /// Two processes one after the other may have the same name.
  private let id = Hexadecimal.encode(SecureRandom.bytes(8))
  private let name: String
  private let clock: any WallClock

  init(_ database: Database, name: String, clock: any WallClock) {
    self.database = database
    self.name = name
    self.clock = clock
  }

  private static let members = "SELECT id, name, admitted, seen, secrets, projects FROM store_member LIMIT 1000"
  private static let enter =
    "INSERT OR REPLACE INTO store_member (id, name, admitted, seen, secrets, projects) VALUES (?, ?, ?, ?, ?, ?)"
  private static let forget = "DELETE FROM store_member WHERE id <> ? AND (? OR NOT admitted)"

  func enroll(_ decide: @escaping @Sendable ([Member]) -> Member.Entry?) async throws(StoreError) {
    let (id, name, now) = (id, name, clock.now())
    try await database.write { session throws(StoreError) in
      let members = try session.query(Self.members) { row in
        Member(
          name: row.text(1), isSelf: row.text(0) == id, isLiving: row.text(0) == id, isAdmitted: row.bool(2),
          age: max(.zero, now - UnixTime(milliseconds: Int64(row.int(3)))), secrets: [CheckValue](text: row.text(4)),
          projects: row.text(5))
      }
      guard let entry = decide(members) else { return }
      try session.execute(
        Self.enter,
        [
          .text(id), .text(name), .integer(entry.isAdmitted ? 1 : 0), .integer(now.milliseconds),
          .text(entry.secrets.text),
          .text(entry.projects),
        ])
      // One that was admitted takes the place of all before it.
      try session.execute(Self.forget, [.text(id), .integer(entry.isAdmitted ? 1 : 0)])
    }
  }
}
