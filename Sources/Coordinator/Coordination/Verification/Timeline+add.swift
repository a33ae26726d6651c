extension Timeline {
  /// Adds what was learnt elsewhere and is not there yet, each entry where its time belongs; of the same time, it comes first.
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
