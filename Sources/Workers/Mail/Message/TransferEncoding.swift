import CountersignEncoding

/// Encoding of a body: always ASCII in short lines, so that no server has a reason to change it and break its
/// signature.
enum TransferEncoding: String {
  case sevenBit = "7bit"
  case quotedPrintable = "quoted-printable"
  case base64

  private static let maxPlainLine = 78
  /// RFC 2045, 6.7 and 6.8.
  private static let maxEncodedLine = 76

  /// Every line break of any system becomes CRLF, and one is added at the end.
  static func encode(_ text: String) -> (encoding: TransferEncoding, bytes: [UInt8]) {
    let lines = lines(text)
    if lines.allSatisfy(isPlain) { return (.sevenBit, join(lines)) }
    let printable = quotedPrintable(lines)
    let size = lines.reduce(0) { $0 + $1.count + 2 }
    // Mostly Latin text stays readable; other scripts would take three times their size.
    if printable.count <= size * 2 { return (.quotedPrintable, printable) }
    return (.base64, base64(join(lines)))
  }

  private static func lines(_ text: String) -> [ArraySlice<UInt8>] {
    let bytes = Array(text.utf8)
    var lines: [ArraySlice<UInt8>] = []
    var start = 0
    var index = 0
    while index < bytes.count {
      if bytes[index] == 13 || bytes[index] == 10 {
        lines.append(bytes[start..<index])
        if bytes[index] == 13, index + 1 < bytes.count, bytes[index + 1] == 10 { index += 1 }
        start = index + 1
      }
      index += 1
    }
    if start < bytes.count { lines.append(bytes[start...]) }
    return lines
  }

  /// A line that begins like a boundary, or like the line between the messages of a mailbox, is encoded.
  private static func isPlain(_ line: ArraySlice<UInt8>) -> Bool {
    line.count <= maxPlainLine && line.allSatisfy { (0x20...0x7E).contains($0) || $0 == 9 } && line.last != 32
      && line.last != 9 && !line.starts(with: "--".utf8) && !line.starts(with: "From ".utf8)
  }

  private static func join(_ lines: [ArraySlice<UInt8>]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(lines.reduce(0) { $0 + $1.count + 2 })
    for line in lines { bytes += line + [13, 10] }
    return bytes
  }

  private static func quotedPrintable(_ lines: [ArraySlice<UInt8>]) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(lines.reduce(0) { $0 + $1.count * 3 / 2 + 2 })
    for line in lines {
      var column = 0
      for index in line.indices {
        let byte = line[index]
        let isLast = index + 1 == line.endIndex
        let isLiteral =
          (33...126).contains(byte) && byte != UInt8(ascii: "=") || (byte == 32 || byte == 9) && !isLast
        // Some servers change `From ` at the beginning of a line.
        let isGuarded = column == 0 && byte == UInt8(ascii: "F") && line[index...].starts(with: "From ".utf8)
        let width = isLiteral && !isGuarded ? 1 : 3
        if column + width > (isLast ? maxEncodedLine : maxEncodedLine - 1) {
          output += [UInt8(ascii: "="), 13, 10]
          column = 0
        }
        if width == 1 {
          output.append(byte)
        } else {
          output += [
            UInt8(ascii: "="), Hexadecimal.digit(byte >> 4, uppercase: true),
            Hexadecimal.digit(byte & 15, uppercase: true),
          ]
        }
        column += width
      }
      output += [13, 10]
    }
    return output
  }

  private static func base64(_ bytes: [UInt8]) -> [UInt8] {
    var output: [UInt8] = []
    let perLine = maxEncodedLine / 4 * 3
    for start in stride(from: 0, to: bytes.count, by: perLine) {
      output += Base64.encode(Array(bytes[start..<min(start + perLine, bytes.count)])).utf8
      output += [13, 10]
    }
    return output
  }
}
