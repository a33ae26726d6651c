/// Form of a text that is sent in the GSM alphabet.
enum PlainText {
  /// The text as it arrives: a question mark in the place of every character that the alphabet does not have.
  static func arriving(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { SegmentCount.isGSM($0) ? $0 : "?" }))
  }
}
