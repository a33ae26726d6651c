/// Requests without a slot, first come, first served.
struct WaitingLine {
  private var entries: [Submission] = []
  private var head = 0

  var isEmpty: Bool { head == entries.count }

  mutating func append(_ submission: Submission) { entries.append(submission) }

  mutating func popFirst() -> Submission? {
    guard head < entries.count else { return nil }
    defer {
      head += 1
      if head == entries.count || head > 1_024 { compact() }
    }
    return entries[head]
  }

  /// Takes one out of the middle; slow, but cancellation is rare.
  mutating func remove(_ id: UInt64) -> Submission? {
    guard let index = entries[head...].firstIndex(where: { $0.id == id }) else { return nil }
    return entries.remove(at: index)
  }

  /// Takes out all whose time is over.
  mutating func removeAll(dueAt now: UInt64) -> [Submission] {
    guard !isEmpty else { return [] }
    compact()
    let due = entries.filter { $0.deadline <= now }
    if !due.isEmpty { entries.removeAll { $0.deadline <= now } }
    return due
  }

  private mutating func compact() {
    entries.removeFirst(head)
    head = 0
  }
}
