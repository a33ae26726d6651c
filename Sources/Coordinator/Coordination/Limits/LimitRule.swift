import CommandEngine
import CountersignTelemetry

/// One limit for one subject: a maximum number within a window.
struct LimitRule: Sendable, Hashable {
  /// Kind of the limit; the second part of the stored name of its counter, behind the subject. Never changes its
  /// meaning, and has no colon.
  enum Key: String, Sendable, CaseIterable {
    case sendsShort = "s"
    case sendsDay = "d"
    case checks = "c"
    case unknownType = "u"
    case proofs = "v"
    /// Checks by handles other than the first of their code.
    case laterChecks = "cl"
    case wrongCodes = "w"
    case wrongCodesDay = "wd"
    /// Wrong codes by handles other than the first of their code.
    case laterWrongCodes = "wl"
    case receiptsDay = "e"
    case assessmentsDay = "q"
    case revocationsDay = "o"
    case noticesDay = "m"
  }

  /// The most entries that a window of a large limit keeps.
  static let maxEntries = 64

  let key: Key
  let limit: Int
  let window: Duration
  let windowMilliseconds: Int64
  private let step: Int64

  /// A sliding window: exact up to ``maxEntries``, by 64ths of the window beyond.
  init(sliding key: Key, limit: Int, window: Duration) {
    self.key = key
    self.limit = limit
    self.window = window
    windowMilliseconds = max(window.wholeMilliseconds, 1)
    step = limit <= Self.maxEntries ? 1 : max(1, windowMilliseconds / Int64(Self.maxEntries))
  }

  /// A day in UTC.
  init(daily key: Key, limit: Int) {
    self.key = key
    self.limit = limit
    window = .seconds(86_400)
    windowMilliseconds = 86_400_000
    step = windowMilliseconds
  }

  func rounded(_ now: UnixTime) -> Int64 {
    now.milliseconds - now.milliseconds % step
  }

  /// The oldest slot that may count now.
  func oldestSlot(at now: UnixTime) -> Int64 { rounded(now - window) }

  /// Time from which the events of a slot no longer count. Always the same for the same slot.
  func end(ofSlot slot: Int64) -> UnixTime { UnixTime(milliseconds: slot + windowMilliseconds) }

  /// Whether an entry no longer counts, or cannot have happened.
  func isOver(_ at: Int64, at now: UnixTime) -> Bool {
    at + windowMilliseconds <= now.milliseconds || at - windowMilliseconds > now.milliseconds
  }
}

/// Number of events within a recent period.
///
/// Its entries are the cells of a ``LimitCounter``. Times are rounded down to `step`, so there are never more than
/// `length / step + 1` entries, however large the limit is. A step of one millisecond makes it exact; a step as long as
/// the window makes it a calendar window (a day in UTC).
///
/// Clocks can be wrong. Entries counted while the clock was ahead count as of now once it is set back, and not at all
/// when it was ahead by more than a window: otherwise a minute of a wrong clock would use up a budget for as long as it
/// was ahead.
struct SlidingWindow: Sendable, Hashable {
  struct Entry: Sendable, Hashable {
    /// Milliseconds since 1970, rounded down to the step.
    var at: Int64
    var count: Int
  }

  /// Oldest first.
  let entries: [Entry]

  /// - Parameters:
  ///   - cells: cells of the counter.
  ///   - earlier: cells of the counter under the subject's earlier name.
  init(_ cells: [CounterCell] = [], and earlier: [CounterCell] = []) {
    let all = earlier.isEmpty ? cells : (cells + earlier).sorted { $0.slot < $1.slot }
    var entries: [Entry] = []
    entries.reserveCapacity(all.count)
    // Events that were moved to another slot leave an empty one.
    for cell in all where cell.count > 0 {
      if let last = entries.last, last.at == cell.slot {
        entries[entries.count - 1].count += Int(cell.count)
      } else {
        entries.append(Entry(at: cell.slot, count: Int(cell.count)))
      }
    }
    self.entries = entries
  }

  /// Number of events within the window that ends now.
  func count(at now: UnixTime, _ rule: LimitRule) -> Int {
    entries.reduce(0) { $0 + (rule.isOver($1.at, at: now) ? 0 : $1.count) }
  }

  /// Time until one more is allowed; `nil` when it is allowed now.
  func wait(at now: UnixTime, _ rule: LimitRule) -> Duration? {
    var excess = count(at: now, rule) - rule.limit + 1
    guard excess > 0 else { return nil }
    for entry in entries where !rule.isOver(entry.at, at: now) {
      excess -= entry.count
      if excess <= 0 { return .milliseconds(entry.at + rule.windowMilliseconds - now.milliseconds) }
    }
    // A limit of zero: waiting does not help, so return the whole window.
    return rule.window
  }
}
