extension Timeline {
  /// Adds missing entries from another source, each at its time; at equal times, before the existing one.
  mutating func add(_ more: [TimelineEntry]) {
    let known = entries
    let all = more.filter { !known.contains($0) } + known
    var merged = Timeline()
    for (_, entry) in all.enumerated().sorted(by: { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }) {
      merged.append(entry)
    }
    self = merged
  }
}
