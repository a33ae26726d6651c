/// The steps of a verification, oldest first, never more than ``capacity``.
///
/// Kept as text (see ``TimelineText``), which is how it is stored: a step is added without reading those before it. A verification that
/// keeps to the default limits has fewer than fifty steps. When it is full, the second one makes room: the first says when it
/// began and the last how it ended.
public struct Timeline: Sendable, Hashable, Codable {
  /// How many entries are kept.
  public static let capacity = 64

  /// As it is stored.
  private(set) var text: String
  private var count: Int

  /// Nothing has happened yet.
  public init() {
    text = ""
    count = 0
  }

  /// - Parameter text: what ``text`` was.
  init(text: String) {
    self.text = text
    count = text.isEmpty ? 0 : text.utf8.reduce(1) { $0 + ($1 == TimelineText.lineEnd ? 1 : 0) }
  }

  /// What has happened. Reads the text, so take it once.
  public var entries: [TimelineEntry] { TimelineText.decode(text) }

  public var isEmpty: Bool { count == 0 }

  mutating func append(_ entry: TimelineEntry) {
    if count >= Self.capacity {
      var kept = entries
      kept.remove(at: 1)
      self = Timeline()
      for entry in kept { append(entry) }
    }
    TimelineText.append(entry, to: &text)
    count += 1
  }
}
