/// A grapheme cluster is not split unless it alone is longer than a part, then between scalars. An escape sequence of a
/// GSM extension table and a surrogate pair are never split: each comes from one scalar.
struct SegmentPacker {
  let limit: Int
  let units: (Unicode.Scalar) -> Int

  /// Ranges of the parts, in order and without gaps, each within the limit.
  func pack(_ text: String) -> [Range<String.Index>] {
    var parts = Parts(text: text, limit: limit)
    var index = text.startIndex
    while index < text.endIndex {
      let next = text.index(after: index)
      let cluster = text.unicodeScalars[index..<next].reduce(0) { $0 + units($1) }
      if cluster <= limit {
        parts.add(cluster, from: index)
      } else {
        addScalars(of: text, index..<next, to: &parts)
      }
      index = next
    }
    return parts.finish()
  }

  private func addScalars(of text: String, _ cluster: Range<String.Index>, to parts: inout Parts) {
    let scalars = text.unicodeScalars
    var index = cluster.lowerBound
    while index < cluster.upperBound {
      parts.add(units(scalars[index]), from: index)
      index = scalars.index(after: index)
    }
  }

  private struct Parts {
    let text: String
    let limit: Int
    private var ranges: [Range<String.Index>] = []
    private var start: String.Index
    private var used = 0

    init(text: String, limit: Int) {
      self.text = text
      self.limit = limit
      self.start = text.startIndex
    }

    mutating func add(_ units: Int, from index: String.Index) {
      if used + units > limit {
        ranges.append(start..<index)
        start = index
        used = 0
      }
      used += units
    }

    func finish() -> [Range<String.Index>] { ranges + [start..<text.endIndex] }
  }
}
