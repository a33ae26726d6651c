import CountersignTelemetry

/// How often something happened within the last so many seconds.
///
/// Times are rounded down to `step`, so there are never more than `length / step + 1` entries, however large the limit is. A
/// step of one millisecond makes it exact; a step as long as the window makes it a calendar window (a day in UTC).
///
/// Nobody's clock is right for ever. What was counted while it was ahead counts as of now once it is set back, and not at all when it was
/// ahead by more than a window: else a minute of a wrong clock would use up a budget for as long as it was ahead.
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

  /// How often it happened within the window that ends now.
  func count(at now: UnixTime, _ rule: LimitRule) -> Int {
    entries.reduce(0) { $0 + (rule.isOver($1.at, at: now) ? 0 : $1.count) }
  }

  /// How long to wait until it may happen once more; `nil` when it may now.
  func wait(at now: UnixTime, _ rule: LimitRule) -> Duration? {
    var excess = count(at: now, rule) - rule.limit + 1
    guard excess > 0 else { return nil }
    for entry in entries where !rule.isOver(entry.at, at: now) {
      excess -= entry.count
      if excess <= 0 { return .milliseconds(entry.at + rule.windowMilliseconds - now.milliseconds) }
    }
    // A limit of zero: nothing that passes away would help, so say the whole window.
    return rule.window
  }

  /// Counts one more, and forgets what is over.
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

  /// The clock was set back.
  private mutating func setBack(to at: Int64) {
    let ahead = entries.filter { $0.at > at }.reduce(0) { $0 + $1.count }
    entries.removeAll { $0.at > at }
    if let last = entries.last, last.at == at {
      entries[entries.count - 1].count += ahead
    } else {
      entries.append(Entry(at: at, count: ahead))
    }
  }

  /// When its last entry is over.
  func end(_ window: Int64) -> Int64 {
    (entries.last?.at ?? 0) + window
  }
}
