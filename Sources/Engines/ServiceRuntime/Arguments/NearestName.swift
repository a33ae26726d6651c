/// Finds the intended name for a misspelled one.
public enum NearestName {
  /// The valid name nearest to a wrong one, or `nil` when none is near enough.
  ///
  /// A name is near if it differs only in case or separators, if at most a third of its letters have to be edited
  /// (optimal string alignment), or if it is the only name that the wrong one begins.
  public static func of(_ name: String, among valid: some Sequence<String>) -> String? {
    let wanted = folded(name)
    let ranked = valid.map { (name: $0, distance: distance(wanted, folded($0))) }
    guard let best = ranked.min(by: { ($0.distance, $0.name) < ($1.distance, $1.name) }) else { return nil }
    if best.distance <= max(1, min(name.count, best.name.count) / 3) { return best.name }
    let longer = ranked.map(\.name).filter { folded($0).starts(with: wanted) }
    return wanted.count >= minAbbreviation && longer.count == 1 ? longer[0] : nil
  }

  private static let minAbbreviation = 3

  private static func folded(_ name: String) -> [Character] {
    Array(name.lowercased().filter { $0 != "-" && $0 != "_" && $0 != "." }.prefix(maxLength))
  }

  /// Longer names are compared by their beginning, because the time grows with the square of the length.
  private static let maxLength = 64

  private static func distance(_ left: [Character], _ right: [Character]) -> Int {
    var beforeLast = [Int]()
    var last = Array(0...right.count)
    for row in left.indices {
      var current = [row + 1]
      for column in right.indices {
        let isSame = left[row] == right[column]
        var best = min(last[column] + (isSame ? 0 : 1), last[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          best = min(best, beforeLast[column - 1] + 1)
        }
        current.append(best)
      }
      beforeLast = last
      last = current
    }
    return last[right.count]
  }
}
