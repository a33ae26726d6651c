import CountersignTelemetry

/// The counts of one subject: a number, an address, a prefix, a country, all callers.
///
/// Stored as text: `<rule>:<window in ms>=<time>*<count>,…;…`, with the time of the first entry in full and the others
/// as the distance from the previous one.
struct UsageRecord: Sendable, Hashable {
  private var windows: [Stored] = []

  private struct Stored: Sendable, Hashable {
    var key: LimitRule.Key
    var length: Int64
    var window: SlidingWindow
  }

  func window(_ rule: LimitRule) -> SlidingWindow {
    windows.first { $0.key == rule.key }?.window ?? SlidingWindow()
  }

  mutating func record(_ rule: LimitRule, at now: UnixTime) {
    let index: Int
    if let known = windows.firstIndex(where: { $0.key == rule.key }) {
      index = known
    } else {
      windows.append(Stored(key: rule.key, length: 0, window: SlidingWindow()))
      index = windows.count - 1
    }
    windows[index].length = rule.windowMilliseconds
    windows[index].window.record(at: now, rule)
  }

  /// Time from which on all counts are expired, so that it can be deleted.
  var expiresAt: UnixTime {
    UnixTime(milliseconds: windows.map { $0.window.end($0.length) }.max() ?? 0)
  }

  var text: String {
    var text = ""
    for stored in windows {
      if !text.isEmpty { text += ";" }
      text += stored.key.rawValue
      text += ":"
      text += String(stored.length)
      text += "="
      var previous: Int64 = 0
      for (index, entry) in stored.window.entries.enumerated() {
        if index > 0 { text += "," }
        text += String(entry.at - previous)
        text += "*"
        text += String(entry.count)
        previous = entry.at
      }
    }
    return text
  }

  init() {}

  /// - Parameter text: a value of ``text``. Malformed parts are skipped: a limit that counts too little for a while
  ///   does less harm than a number that can never be verified again.
  init(text: String) {
    for part in text.utf8.split(separator: UInt8(ascii: ";")) {
      var rest = part
      guard let name = Self.take(&rest, until: UInt8(ascii: ":")), let key = LimitRule.Key(rawValue: String(name)),
        let length = Self.take(&rest, until: UInt8(ascii: "=")).flatMap({ Int64($0) })
      else { continue }
      var at: Int64 = 0
      var entries: [SlidingWindow.Entry] = []
      for pair in rest.split(separator: UInt8(ascii: ",")) {
        var pair = pair
        guard let distance = Self.take(&pair, until: UInt8(ascii: "*")).flatMap({ Int64($0) }),
          let count = Int(Substring(pair))
        else { continue }
        at += distance
        entries.append(SlidingWindow.Entry(at: at, count: count))
      }
      windows.append(Stored(key: key, length: length, window: SlidingWindow(entries: entries)))
    }
  }

  private static func take(_ rest: inout Substring.UTF8View, until end: UInt8) -> Substring? {
    guard let index = rest.firstIndex(of: end) else { return nil }
    defer { rest = rest[rest.index(after: index)...] }
    return Substring(rest[..<index])
  }
}
