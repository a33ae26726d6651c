/// The number at the end of a text that is read piece by piece: a run of numerals, ignoring spaces and hyphens.
///
/// The code is a number of its own, and only a hyphen joins another one to it.
struct NumberOfText {
  private var length = 0
  private var isOfCode = false
  private var isSpaced = false
  /// Variable that a part of it is from, if it may have no number.
  private var variable: TemplateVariable?

  /// The variable, if the number is long enough to be taken for the code.
  var found: TemplateVariable? { length >= PhishingSigns.fewestDigitsOfNumber ? variable : nil }

  /// - Parameter source: variable of the piece, if it may have no number.
  mutating func read(_ text: String, of source: TemplateVariable?) {
    for scalar in text.unicodeScalars where !PhishingSigns.isIgnored(scalar) {
      if found != nil { return }
      if PhishingSigns.isNumeral(scalar) {
        length += 1
        isSpaced = false
        variable = variable ?? source
      } else if !PhishingSigns.joinsNumbers(scalar) || isOfCode && PhishingSigns.isSpace(scalar) {
        self = Self()
      } else if PhishingSigns.isSpace(scalar) {
        isSpaced = true
      }
    }
  }

  mutating func readCode() {
    if isSpaced { self = Self() }
    length += PhishingSigns.fewestDigitsOfNumber
    isOfCode = true
  }
}
