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
  static let maxPages = MaintenanceLoop.maxRounds

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
