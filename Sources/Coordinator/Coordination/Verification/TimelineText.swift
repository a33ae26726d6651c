import CountersignTelemetry

/// A timeline as text: an entry a line, its fields in a fixed order between tabs, empty ones at the end left out.
///
/// It is written with every change of a verification, and JSON costs ten times as much.
enum TimelineText {
  static let lineEnd = UInt8(ascii: "\n")
  private static let separator = UInt8(ascii: "\t")

  static func append(_ entry: TimelineEntry, to text: inout String) {
    if !text.isEmpty { text += "\n" }
    text += String(entry.at.milliseconds)
    text += "\t"
    text += entry.kind.rawValue
    var missing = 0
    func put(_ field: String?) {
      missing += 1
      guard let field, !field.isEmpty else { return }
      for _ in 0..<missing { text += "\t" }
      missing = 0
      text += clean(field)
    }
    put(entry.job.map(String.init))
    put(entry.lane)
    put(entry.worker)
    put(entry.reference)
    put(entry.reason)
    put(entry.detail)
    put(entry.attempts.map(String.init))
    put(entry.segments.map(String.init))
    put(entry.handle.map(String.init))
  }

  /// Malformed lines are skipped.
  static func decode(_ text: String) -> [TimelineEntry] {
    text.utf8.split(separator: lineEnd).compactMap(entry)
  }

  private static func entry(_ line: Substring.UTF8View) -> TimelineEntry? {
    let fields = line.split(separator: separator, omittingEmptySubsequences: false)
    guard fields.count >= 2, let at = Int64(Substring(fields[0])),
      let kind = TimelineEntry.Kind(rawValue: String(Substring(fields[1])))
    else { return nil }
    var entry = TimelineEntry(at: UnixTime(milliseconds: at), kind: kind)
    func text(_ index: Int) -> String? {
      guard index < fields.count, !fields[index].isEmpty else { return nil }
      return String(Substring(fields[index]))
    }
    entry.job = text(2).flatMap { Int($0) }
    entry.lane = text(3)
    entry.worker = text(4)
    entry.reference = text(5)
    entry.reason = text(6)
    entry.detail = text(7)
    entry.attempts = text(8).flatMap { Int($0) }
    entry.segments = text(9).flatMap { Int($0) }
    entry.handle = text(10).flatMap { Int($0) }
    return entry
  }

  /// Texts of workers are data: control characters become spaces.
  private static func clean(_ field: String) -> String {
    guard field.utf8.contains(where: { $0 < 0x20 }) else { return field }
    return String(decoding: field.utf8.map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
  }
}
