import Telemetry

/// The counts of one subject: a number, an address, a prefix, a country, everybody.
///
/// As text, which is how it is stored: `<rule>:<window in ms>=<time>*<count>,…;…`, with a time of the first entry in full and
/// the others as the distance from the one before.
struct UsageRecord: Sendable, Hashable {
  private var windows: [LimitRule.Key: Stored] = [:]

  private struct Stored: Sendable, Hashable {
    var length: Int64
    var window: SlidingWindow
  }

  func window(_ rule: LimitRule) -> SlidingWindow {
    windows[rule.key]?.window ?? SlidingWindow()
  }

  mutating func record(_ rule: LimitRule, at now: UnixTime) {
    var stored = windows[rule.key] ?? Stored(length: 0, window: SlidingWindow())
    stored.length = rule.windowMilliseconds
    stored.window.record(at: now, rule)
    windows[rule.key] = stored
  }

  /// From when on it tells nothing any more and can be deleted.
  var expiresAt: UnixTime {
    UnixTime(milliseconds: windows.values.map { $0.window.end($0.length) }.max() ?? 0)
  }

  var text: String {
    windows.sorted { $0.key.rawValue < $1.key.rawValue }.map { key, stored in
      var previous: Int64 = 0
      let entries = stored.window.entries.map { entry in
        defer { previous = entry.at }
        return "\(entry.at - previous)*\(entry.count)"
      }
      return "\(key.rawValue):\(stored.length)=\(entries.joined(separator: ","))"
    }.joined(separator: ";")
  }

  init() {}

  /// - Parameter text: what ``text`` gave. Parts that make no sense are left out: a limit that counts too little for a
  ///   while does less harm than a number that can never be verified again.
  init(text: String) {
    for part in text.split(separator: ";") {
      guard let colon = part.firstIndex(of: ":"), let equals = part.firstIndex(of: "="), colon < equals,
        let key = LimitRule.Key(rawValue: String(part[..<colon])),
        let length = Int64(part[part.index(after: colon)..<equals])
      else { continue }
      var at: Int64 = 0
      let entries = part[part.index(after: equals)...].split(separator: ",").compactMap {
        text -> SlidingWindow.Entry? in
        let pair = text.split(separator: "*")
        guard pair.count == 2, let distance = Int64(pair[0]), let count = Int(pair[1]) else { return nil }
        at += distance
        return SlidingWindow.Entry(at: at, count: count)
      }
      windows[key] = Stored(length: length, window: SlidingWindow(entries: entries))
    }
  }
}
