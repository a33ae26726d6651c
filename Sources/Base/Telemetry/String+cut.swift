extension String {
  /// Its beginning of at most so many bytes in UTF-8, never with a part of a Unicode scalar.
  ///
  /// For texts of others that have to fit somewhere. `prefix` counts characters, and one character may have any number
  /// of bytes: a letter with a thousand accents is one.
  public func cut(toBytes limit: Int) -> String {
    guard utf8.count > limit else { return self }
    var end = utf8.index(startIndex, offsetBy: max(0, limit))
    while end > startIndex, end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    return String(self[..<end])
  }
}
