extension Timeline {
  /// Adds what was learnt elsewhere and is not there yet, each entry where its time belongs; of the same time, it comes first.
  mutating func add(_ more: [TimelineEntry]) {
    let known = entries
    let all = (more.filter { !known.contains($0) } + known).enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
    var merged = Timeline()
    for entry in all { merged.append(entry.element) }
    self = merged
  }
}
