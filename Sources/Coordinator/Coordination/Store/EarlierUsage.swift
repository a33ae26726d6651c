import CommandEngine
import CountersignTelemetry

/// The counts of one subject as versions before the command engine stored them:
/// `<rule>:<window in ms>=<time>*<count>,…;…`, with the time of the first entry in full and the others as the distance
/// from the previous one.
struct EarlierUsage: Sendable, Hashable {
  /// Events of one limit in one slot.
  struct Entry: Sendable, Hashable {
    var limit: LimitRule.Key
    /// Start of the slot.
    var at: UnixTime
    var count: Int64
    /// Time from which they no longer count.
    var end: UnixTime
    /// Length of the window.
    fileprivate var window: Duration

    /// Whether they no longer count, or cannot have happened.
    func isOver(at now: UnixTime) -> Bool { end <= now || at - window > now }
  }

  let entries: [Entry]

  /// - Throws: ``StoreError/Code/content`` when a part of the text cannot be read. None of it counts then: a limit that
  ///   counts too little for a while does less harm than a number that can never be verified again.
  init(text: String) throws(StoreError) {
    var entries: [Entry] = []
    for part in text.utf8.split(separator: UInt8(ascii: ";")) {
      var rest = part
      guard let name = Self.take(&rest, until: UInt8(ascii: ":")), let limit = LimitRule.Key(rawValue: String(name)),
        let length = Self.take(&rest, until: UInt8(ascii: "=")).flatMap({ Int64($0) }), length > 0
      else { throw Self.unreadable }
      try Self.read(rest, of: limit, window: .milliseconds(length), into: &entries)
    }
    self.entries = entries
  }

  private static func read(
    _ pairs: Substring.UTF8View, of limit: LimitRule.Key, window: Duration, into entries: inout [Entry]
  ) throws(StoreError) {
    var at = UnixTime(milliseconds: 0)
    for pair in pairs.split(separator: UInt8(ascii: ",")) {
      var pair = pair
      guard let distance = take(&pair, until: UInt8(ascii: "*")).flatMap({ Int64($0) }), distance >= 0,
        let count = Int64(Substring(pair)), count > 0
      else { throw unreadable }
      at += .milliseconds(distance)
      entries.append(Entry(limit: limit, at: at, count: count, end: at + window, window: window))
    }
  }

  private static func take(_ rest: inout Substring.UTF8View, until end: UInt8) -> Substring? {
    guard let index = rest.firstIndex(of: end) else { return nil }
    defer { rest = rest[rest.index(after: index)...] }
    return Substring(rest[..<index])
  }

  private static let unreadable = StoreError(.content, "counts of an earlier row cannot be read")
}
