import CountersignTelemetry
import SQLite
import Synchronization

/// Deletes recorded replies and counts that are too old to matter, a bounded number at a time.
final class Purger: Sendable {
  private let database: Database
  private let inboxRetention: Duration
  private let clock: any WallClock
  private let walk = Mutex(UsageWalk())
  /// Number after the recorded replies whose times lie in the future.
  private let inboxCursor = Mutex(0)

  /// Recorded replies read, or deleted, in one transaction.
  static let maxRows = 512

  init(database: Database, inboxRetention: Duration, clock: any WallClock) {
    self.database = database
    self.inboxRetention = inboxRetention
    self.clock = clock
  }

  // MARK: Inbox

  /// Deletes the oldest expired replies.
  ///
  /// Numbers ascend with time, so the time needs no index: every reply before an expired one is expired too, even with
  /// a time in the future, which the clock wrote while it was ahead.
  /// - Returns: whether there may be more.
  func purgeInbox() async throws(DatabaseError) -> Bool {
    let now = clock.now()
    let before = now - inboxRetention
    let cursor = inboxCursor.withLock { $0 }
    let page = try await database.read { session throws(DatabaseError) in
      try Self.inboxPage(behind: cursor, before: before, in: session)
    }
    guard let over = page.over else { return goOn(behind: page, at: now) }
    return try await database.write { session throws(DatabaseError) in
      try session.execute(
        "DELETE FROM inbox WHERE number IN (SELECT number FROM inbox WHERE number <= ? ORDER BY number LIMIT ?)",
        [Value(over), Value(Self.maxRows)]) == Self.maxRows
    }
  }

  /// Advances past a page without expired replies. After replies from the future there may be expired ones; around
  /// others there cannot.
  private func goOn(behind page: InboxPage, at now: UnixTime) -> Bool {
    guard let last = page.last else {
      // The numbers start from one when the table was empty.
      inboxCursor.withLock { $0 = 0 }
      return false
    }
    guard page.isFull, page.first.map({ $0 > now }) ?? false, last.receivedAt > now else { return false }
    inboxCursor.withLock { $0 = last.number }
    return true
  }

  private struct InboxPage: Sendable {
    /// The number of the last expired reply.
    var over: Int?
    /// Time at which the first reply was recorded.
    var first: UnixTime?
    var last: (number: Int, receivedAt: UnixTime)?
    var isFull: Bool
  }

  private static func inboxPage(
    behind number: Int, before: UnixTime, in session: Session
  ) throws(DatabaseError) -> InboxPage {
    let rows = try session.query(
      "SELECT number, received_at FROM inbox WHERE number > ? ORDER BY number LIMIT ?",
      [Value(number), Value(maxRows)]
    ) { row throws(DatabaseError) in (number: row.int(0), receivedAt: row.time(1)) }
    return InboxPage(
      over: rows.last { $0.receivedAt <= before }?.number, first: rows.first?.receivedAt, last: rows.last,
      isFull: rows.count == maxRows)
  }

  // MARK: Counts

  /// Reads the next page of counts and deletes the expired ones.
  /// - Returns: whether there is more to do in this round.
  func purgeUsage() async throws(DatabaseError) -> Bool {
    let now = clock.now()
    let subject = walk.withLock { $0.subject }
    let page = try await database.read { session throws(DatabaseError) in
      try Self.usagePage(behind: subject, at: now, in: session)
    }
    if page.hasOldOnes {
      try await database.write { session throws(DatabaseError) -> Void in
        try session.execute(
          "DELETE FROM usage WHERE subject > ? AND subject <= ? AND expires_at <= ?",
          [.text(subject), .text(page.end ?? Self.behindAll), .integer(now.milliseconds)])
      }
    }
    return walk.withLock { $0.finish(pageUpTo: page.end) }
  }

  private struct UsagePage: Sendable {
    /// The last subject; absent at the end of the table.
    var end: String?
    var hasOldOnes: Bool
  }

  private static func usagePage(
    behind subject: String, at now: UnixTime, in session: Session
  ) throws(DatabaseError) -> UsagePage {
    let end = try session.first(
      "SELECT subject FROM usage WHERE subject > ? ORDER BY subject LIMIT 1 OFFSET ?",
      [.text(subject), Value(UsageWalk.pageRows - 1)]
    ) { row throws(DatabaseError) in row.text(0) }
    let old = try session.first(
      "SELECT 1 FROM usage WHERE subject > ? AND subject <= ? AND expires_at <= ? LIMIT 1",
      [.text(subject), .text(end ?? behindAll), .integer(now.milliseconds)]
    ) { row throws(DatabaseError) in row.int(0) }
    return UsagePage(end: end, hasOldOnes: old != nil)
  }

  /// Sorts after every subject: they begin with a letter or `*`, and are compared by their bytes.
  private static let behindAll = "\u{10FFFF}"
}

/// Position and speed of the walk over the counts. A plain value without I/O.
///
/// A round reads as many pages as it takes to walk the table in ``rounds`` rounds: expired counts are found within
/// about a minute however large the table is, and a small table costs next to nothing. Each row is visited once a walk
/// and needs one visit after its end, so the table holds the live rows and those that have ended since their last
/// visit. An index on the end would cost a page for each count of each start, because counts move it.
struct UsageWalk: Sendable, Hashable {
  /// Rows of a page. All of them may have to be deleted in one transaction, which delays others by some milliseconds.
  static let pageRows = 1024
  /// Rounds of a walk, as long as ``maxPages`` suffices: a minute at one round a second. The shortest counts live for
  /// ten.
  static let rounds = 60
  /// Maximum pages in a round. It covers 16,384 new subjects a second, more than some thousand starts bring.
  static let maxPages = Maintenance.maxRounds

  /// The last subject that was visited; empty at the beginning.
  private(set) var subject = ""
  private var pages = 0
  private var pagesOfLastWalk = 0
  private var pagesOfRound = 0

  /// Records a visited page.
  /// - Parameter end: the last subject of the page; `nil` at the end of the table.
  /// - Returns: whether this round visits another page.
  mutating func finish(pageUpTo end: String?) -> Bool {
    pages += 1
    pagesOfRound += 1
    guard let end else {
      (pagesOfLastWalk, pages, pagesOfRound, subject) = (pages, 0, 0, "")
      return false
    }
    subject = end
    // Already larger than last time: the table grows.
    let all = max(pages, pagesOfLastWalk)
    guard pagesOfRound < min(Self.maxPages, (all + Self.rounds - 1) / Self.rounds) else {
      pagesOfRound = 0
      return false
    }
    return true
  }
}
