import JobEngine

/// Finds letters that look like others: readers overlook a Cyrillic о in a Latin word, and filters of words miss the
/// word.
enum ScriptLinter {
  static func problems(_ text: TemplateText) -> [String] {
    let scalars = Array(text.skeleton.unicodeScalars)
    var problems: [String] = []
    if let scalar = scalars.first(where: isDisguised) {
      problems.append("has \(scalar.name), which looks like another character: write the plain one")
    }
    if let scalar = invisible(scalars) {
      problems.append("has \(scalar.name), which cannot be seen")
    }
    let words = words(scalars)
    if let word = words.first(where: { $0.scripts.count > 1 }) {
      problems.append("has '\(word.text)', a word in letters of several scripts")
    }
    problems += strangers(words)
    return problems
  }

  private struct Word {
    var text = ""
    var scripts: Set<LetterScript> = []
    var length = 0
  }

  /// A mark that belongs to all scripts (an accent) does not count.
  private static func words(_ scalars: [Unicode.Scalar]) -> [Word] {
    var words: [Word] = []
    var word = Word()
    for scalar in scalars {
      if scalar.properties.isAlphabetic || scalar.isJoiner || scalar.properties.generalCategory == .nonspacingMark {
        word.text.unicodeScalars.append(scalar)
        word.length += 1
        if let script = LetterScript(scalar) { word.scripts.insert(script) }
      } else if word.length > 0 {
        words.append(word)
        word = Word()
      }
    }
    return word.length > 0 ? words + [word] : words
  }

  /// Latin words (SMS) are common in every script, others of another alphabet than the text's own are suspicious.
  private static func strangers(_ words: [Word]) -> [String] {
    var lengths: [LetterScript: Int] = [:]
    for word in words where word.scripts.count == 1 {
      for script in word.scripts { lengths[script, default: 0] += word.length }
    }
    guard let main = lengths.max(by: { $0.value < $1.value })?.key else { return [] }
    let stranger = words.first { word in
      word.scripts.count == 1 && !word.scripts.contains(main) && !word.scripts.contains(.latin)
    }
    return stranger.map { ["has '\($0.text)', a word in another script than the rest"] } ?? []
  }

  /// Whether a letter or digit is another one in disguise: full-width, mathematical, in a circle.
  private static func isDisguised(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0xFF10...0xFF19, 0xFF21...0xFF3A, 0xFF41...0xFF5A, 0x1D400...0x1D7FF, 0x2460...0x24FF, 0x1F100...0x1F1FF: true
    default: false
    }
  }

  /// A zero-width character that its script does not need.
  private static func invisible(_ scalars: [Unicode.Scalar]) -> Unicode.Scalar? {
    for (index, scalar) in scalars.enumerated() {
      switch scalar.value {
      case 0xAD, 0x34F, 0x180E, 0x200B, 0x2060...0x2064, 0xFEFF: return scalar
      case 0x200C, 0x200D:
        let before = scalars[..<index].last { $0.properties.isAlphabetic }.flatMap { LetterScript($0) }
        if before.map({ [.latin, .greek, .cyrillic, .armenian].contains($0) }) ?? true { return scalar }
      default: continue
      }
    }
    return nil
  }
}

extension Unicode.Scalar {
  fileprivate var isJoiner: Bool { value == 0x200C || value == 0x200D }
}

/// Script of a letter, precise enough to find a word that mixes two: the blocks of Unicode that living languages use.
/// The scripts that Japanese, Korean and Chinese mix in one word count as one.
enum LetterScript: Hashable {
  case latin, greek, cyrillic, armenian, hebrew, arabic, georgian, cherokee, ethiopic, eastAsian
  /// Another script, by the number of its block of 128.
  case block(UInt32)

  /// `nil` for a scalar that is not a letter, or that is used with all scripts.
  init?(_ scalar: Unicode.Scalar) {
    guard scalar.properties.isAlphabetic else { return nil }
    switch scalar.value {
    // Modifier letters are used with all scripts.
    case 0x2B0...0x2FF: return nil
    case ..<0x250, 0x250...0x2AF, 0x1E00...0x1EFF, 0x2C60...0x2C7F, 0xA720...0xA7FF, 0xFB00...0xFB06: self = .latin
    case 0x370...0x3FF, 0x1F00...0x1FFF: self = .greek
    case 0x400...0x52F, 0x1C80...0x1C8F, 0x2DE0...0x2DFF, 0xA640...0xA69F: self = .cyrillic
    case 0x530...0x58F, 0xFB13...0xFB17: self = .armenian
    case 0x590...0x5FF, 0xFB1D...0xFB4F: self = .hebrew
    case 0x600...0x77F, 0x870...0x8FF, 0xFB50...0xFDFF, 0xFE70...0xFEFE: self = .arabic
    case 0x10A0...0x10FF, 0x1C90...0x1CBF, 0x2D00...0x2D2F: self = .georgian
    case 0x1200...0x139F, 0x2D80...0x2DDF, 0xAB00...0xAB2F: self = .ethiopic
    case 0x13A0...0x13FF, 0xAB70...0xABBF: self = .cherokee
    case 0x1100...0x11FF, 0x2E80...0x9FFF, 0xA960...0xA97F, 0xAC00...0xD7FF, 0xF900...0xFAFF, 0x20000...0x3FFFF:
      self = .eastAsian
    default: self = .block(scalar.value >> 7)
    }
  }
}
