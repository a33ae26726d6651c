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
  mutating func removeAll(dueAt now: UInt64) -> [Submission] { removeAll { $0.deadline <= now } }

  /// Takes out all that are such.
  mutating func removeAll(where isSuch: (Submission) -> Bool) -> [Submission] {
    guard !isEmpty else { return [] }
    compact()
    let such = entries.filter(isSuch)
    if !such.isEmpty { entries.removeAll(where: isSuch) }
    return such
  }

  private mutating func compact() {
    entries.removeFirst(head)
    head = 0
  }
}
