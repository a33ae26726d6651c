/// The steps of a verification, oldest first, never more than ``capacity``.
///
/// Kept as text (see ``TimelineText``), as it is stored: a step is added without parsing the previous ones. A
/// verification within the default limits has fewer than fifty steps. A full timeline drops the second one: the first
/// shows the beginning and the last the end.
public struct Timeline: Sendable, Hashable, Codable {
  /// Maximum number of entries.
  public static let capacity = 64

  /// The stored form.
  private(set) var text: String
  private var count: Int

  /// Creates an empty timeline.
  public init() {
    text = ""
    count = 0
  }

  /// - Parameter text: a value of ``text``.
  init(text: String) {
    self.text = text
    count = text.isEmpty ? 0 : text.utf8.reduce(1) { $0 + ($1 == TimelineText.lineEnd ? 1 : 0) }
  }

  /// The entries. Parses the text, so read it once.
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
