import CountersignEncoding

/// Header texts that are not plain ASCII, as encoded-words (RFC 2047).
enum EncodedWords {
  private static let maxWord = 75
  /// `=?UTF-8?B?` and `?=`.
  private static let overhead = 12
  /// Room for the text in a line of 76 with its leading space.
  private static let maxBytes = (maxWord - overhead) / 4 * 3

  static func encode(_ text: String, firstRoom: Int) -> [String] {
    var words: [String] = []
    var chunk: [UInt8] = []
    var room = max(0, min(maxBytes, (firstRoom - overhead) / 4 * 3))
    func close() {
      words.append("=?UTF-8?B?\(Base64.encode(chunk))?=")
      chunk = []
      room = maxBytes
    }
    for piece in pieces(text) {
      if chunk.count + piece.count > room, !(chunk.isEmpty && room == maxBytes) {
        // The first line may have no room: its text begins on the next one then.
        if chunk.isEmpty { words.append("") }
        if chunk.isEmpty { room = maxBytes } else { close() }
      }
      chunk += piece
    }
    if !chunk.isEmpty { close() }
    return words
  }

  /// Characters, which must not be divided (RFC 2047, 5). One that is too long for a line is divided between scalars.
  private static func pieces(_ text: String) -> [[UInt8]] {
    text.flatMap { character -> [[UInt8]] in
      let bytes = Array(character.utf8)
      return bytes.count <= maxBytes ? [bytes] : character.unicodeScalars.map { Array(String($0).utf8) }
    }
  }
}
