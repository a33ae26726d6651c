/// The script of a letter, as far as it takes to see that a word mixes two: the blocks of Unicode that living languages use.
/// What Japanese, Korean and Chinese mix in one word is one script here.
enum LetterScript: Hashable {
  case latin, greek, cyrillic, armenian, hebrew, arabic, georgian, cherokee, ethiopic, eastAsian
  /// Another, by the number of its block of 128.
  case block(UInt32)

  /// nil for what is no letter, and for what is used with all scripts.
  init?(_ scalar: Unicode.Scalar) {
    guard scalar.properties.isAlphabetic else { return nil }
    switch scalar.value {
    // The modifier letters are used with all scripts.
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
