import CountersignEncoding
import JobEngine

/// Checks the direction of texts that are written from right to left (Unicode Standard Annex 9): a name of the other
/// direction without isolates reorders the words and the full stop around it.
enum DirectionLinter {
  static func problems(_ text: TemplateText) -> [String] {
    let scalars = Array(text.skeleton.unicodeScalars)
    let isRightToLeft = scalars.contains { $0.isRightToLeftLetter }
    var problems = marks(scalars, isRightToLeft)
    if isRightToLeft {
      if let first = firstStrong(scalars), !first.isRightToLeftLetter {
        problems.append(
          "begins with a letter of the other direction, which reverses the whole line: put it in isolates")
      }
      if let mark = unisolated(scalars) {
        let name = text.readable(String(mark))
        problems.append("must have \(name) between \\u2068 and \\u2069, so that its direction does not leak")
      }
    }
    return problems
  }

  private static func marks(_ scalars: [Unicode.Scalar], _ isRightToLeft: Bool) -> [String] {
    let marks = scalars.filter(\.isDirectionMark)
    guard !marks.isEmpty else { return [] }
    guard isRightToLeft else { return ["has a direction mark, although it is written from left to right"] }
    if let other = marks.first(where: { !$0.isIsolateStart && !$0.isIsolateEnd }) {
      return ["has the direction mark \(other.name): only isolates, \\u2068 and \\u2069, end where they should"]
    }
    var depth = 0
    for mark in marks {
      depth += mark.isIsolateStart ? 1 : -1
      guard (0...1).contains(depth) else { break }
    }
    return depth == 0 ? [] : ["has isolates that do not come in pairs"]
  }

  /// First letter with a direction outside of isolates (rule P2).
  private static func firstStrong(_ scalars: [Unicode.Scalar]) -> Unicode.Scalar? {
    var depth = 0
    for scalar in scalars {
      if scalar.isIsolateStart { depth += 1 }
      if scalar.isIsolateEnd { depth -= 1 }
      // A name may have either direction.
      if depth <= 0, scalar.properties.isAlphabetic || PhishingSigns.marks.contains(scalar) { return scalar }
    }
    return nil
  }

  /// First variable that is not between isolates. The code has no letters.
  private static func unisolated(_ scalars: [Unicode.Scalar]) -> Unicode.Scalar? {
    var depth = 0
    for scalar in scalars {
      if scalar.isIsolateStart { depth += 1 }
      if scalar.isIsolateEnd { depth -= 1 }
      if PhishingSigns.marks.contains(scalar), depth == 0 { return scalar }
    }
    return nil
  }
}

extension Unicode.Scalar {
  fileprivate var isRightToLeftLetter: Bool {
    switch value {
    case 0x590...0x8FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFE, 0x10800...0x10FFF, 0x1E800...0x1EFFF: properties.isAlphabetic
    default: false
    }
  }

  fileprivate var isIsolateStart: Bool { (0x2066...0x2068).contains(value) }
  fileprivate var isIsolateEnd: Bool { value == 0x2069 }

  fileprivate var isDirectionMark: Bool {
    switch value {
    case 0x200E, 0x200F, 0x61C, 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  var name: String {
    "U+" + Hexadecimal.text(UInt64(value), width: 4, uppercase: true)
  }
}
