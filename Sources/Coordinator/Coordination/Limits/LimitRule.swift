import CountersignTelemetry

/// One limit for one subject: a maximum number within a window.
struct LimitRule: Sendable, Hashable {
  /// Kind of the limit; the name under which its count is stored. Never changes its meaning.
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

  /// Whether an entry no longer counts, or cannot have happened.
  func isOver(_ at: Int64, at now: UnixTime) -> Bool {
    at + windowMilliseconds <= now.milliseconds || at - windowMilliseconds > now.milliseconds
  }
}

/// Number of events within a recent period.
///
/// Times are rounded down to `step`, so there are never more than `length / step + 1` entries, however large the limit
/// is. A step of one millisecond makes it exact; a step as long as the window makes it a calendar window (a day in
/// UTC).
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
  private(set) var entries: [Entry]

  init(entries: [Entry] = []) {
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

  /// Counts one more, and drops expired entries.
  mutating func record(at now: UnixTime, _ rule: LimitRule) {
    entries.removeAll { rule.isOver($0.at, at: now) }
    let at = rule.rounded(now)
    if let last = entries.last, last.at > at { setBack(to: at) }
    if let last = entries.last, last.at >= at {
      entries[entries.count - 1].count += 1
    } else {
      entries.append(Entry(at: at, count: 1))
    }
  }

  /// Handles a clock that was set back.
  private mutating func setBack(to at: Int64) {
    let ahead = entries.filter { $0.at > at }.reduce(0) { $0 + $1.count }
    entries.removeAll { $0.at > at }
    if let last = entries.last, last.at == at {
      entries[entries.count - 1].count += ahead
    } else {
      entries.append(Entry(at: at, count: ahead))
    }
  }

  /// Time at which its last entry expires.
  func end(_ window: Int64) -> Int64 {
    (entries.last?.at ?? 0) + window
  }
}
