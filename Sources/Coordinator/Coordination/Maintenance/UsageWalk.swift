/// Position and speed of the walk over the counts. A plain value without I/O.
///
/// It takes as many pages in a round as bring it around the table in ``rounds`` rounds: so what is over is found within a minute or so
/// however large the table is, and a small one costs next to nothing. Each row is visited once a walk and needs one visit after its
/// end, so the table holds what is alive and what has ended since the walk was there last. An index on the end would cost a page
/// for each count of each start, because counts move it.
struct UsageWalk: Sendable, Hashable {
  /// Rows of a page. All of them may have to be deleted in one transaction, which others wait for meanwhile: some milliseconds.
  static let pageRows = 1024
  /// Rounds that a walk takes, as long as ``maxPages`` suffices: a minute, when there is one round a second. The shortest counts
  /// live for ten.
  static let rounds = 60
  /// Pages in a round at most. It is enough for 16,384 new subjects a second, and some thousand starts bring no more.
  static let maxPages = MaintenanceLoop.maxRounds

  /// The last subject that was looked at; empty at the beginning.
  private(set) var subject = ""
  private var pages = 0
  private var pagesOfLastWalk = 0
  private var pagesOfRound = 0

  /// Takes note of a page.
  /// - Parameter end: the last subject of the page; `nil` at the end of the table.
  /// - Returns: whether there is another one to look at in this round.
  mutating func finish(pageUpTo end: String?) -> Bool {
    pages += 1
    pagesOfRound += 1
    guard let end else {
      (pagesOfLastWalk, pages, pagesOfRound, subject) = (pages, 0, 0, "")
      return false
    }
    subject = end
    // Larger than the last time already: the table grows.
    let all = max(pages, pagesOfLastWalk)
    guard pagesOfRound < min(Self.maxPages, (all + Self.rounds - 1) / Self.rounds) else {
      pagesOfRound = 0
      return false
    }
    return true
  }
}
