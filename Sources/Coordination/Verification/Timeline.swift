/// The steps of a verification, oldest first, never more than ``capacity``.
///
/// A verification that keeps to the default limits has fewer than fifty. When it is full, the second entry makes room:
/// the first says when it began and the last how it ended.
public struct Timeline: Sendable, Hashable, Codable {
  /// How many entries are kept.
  public static let capacity = 64

  public private(set) var entries: [TimelineEntry]

  /// - Parameter entries: what has happened so far; only the last ``capacity`` are kept.
  public init(_ entries: [TimelineEntry] = []) {
    self.entries = entries.suffix(Self.capacity)
  }

  mutating func append(_ entry: TimelineEntry) {
    if entries.count >= Self.capacity { entries.remove(at: 1) }
    entries.append(entry)
  }
}
