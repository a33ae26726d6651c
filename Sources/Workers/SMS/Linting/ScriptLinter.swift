/// Looks for letters that look like others: a Cyrillic о in a Latin word passes every reader, and no filter for words.
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

  /// The words with the scripts of their letters; what belongs to all scripts (an accent) counts to none.
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

  /// Words of an alphabet that looks like the text's own: Latin ones are at home everywhere (SMS), others only among their own.
  private static func strangers(_ words: [Word]) -> [String] {
    var lengths: [LetterScript: Int] = [:]
    for word in words where word.scripts.count == 1 {
      for script in word.scripts { lengths[script, default: 0] += word.length }
    }
    guard let main = lengths.max(by: { $0.value < $1.value })?.key else { return [] }
    let stranger = words.first { word in
      word.scripts.count == 1 && !word.scripts.contains(main) && !word.scripts.contains(.latin)
    }
    return stranger.map { ["has '\($0.text)', a word of another script than the rest"] } ?? []
  }

  /// Letters and digits that are others in disguise: full-width, mathematical, in circles.
  private static func isDisguised(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0xFF10...0xFF19, 0xFF21...0xFF3A, 0xFF41...0xFF5A, 0x1D400...0x1D7FF, 0x2460...0x24FF, 0x1F100...0x1F1FF: true
    default: false
    }
  }

  /// A character without width that its script does not need.
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
