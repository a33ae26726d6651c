/// Messages in the order in which they came.
struct WaitingLine {
  private var entries: [Submission] = []
  private var start = 0

  /// Used entries at the front that are kept until they are dropped together.
  private static let maxUsed = 256

  var count: Int { entries.count - start }

  mutating func append(_ submission: Submission) { entries.append(submission) }

  mutating func popFirst() -> Submission? {
    guard start < entries.count else { return nil }
    defer {
      start += 1
      if start == entries.count || start > Self.maxUsed {
        entries.removeFirst(start)
        start = 0
      }
    }
    return entries[start]
  }

  /// Takes out, in order, those that are meant.
  mutating func remove(where isMeant: (Submission) -> Bool) -> [Submission] {
    guard count > 0 else { return [] }
    let removed = entries[start...].filter(isMeant)
    guard !removed.isEmpty else { return [] }
    entries = entries[start...].filter { !isMeant($0) }
    start = 0
    return removed
  }
}
