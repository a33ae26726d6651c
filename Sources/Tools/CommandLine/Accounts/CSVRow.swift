/// A row of comma-separated values (RFC 4180), read as leniently as `auth:export` writes: it quotes a value with a comma
/// and leaves quotation marks in it alone.
///
/// A mark ends a quoted value only before a comma or the end of the line. One within a value without quotes is text.
struct CSVRow {
  let fields: [[UInt8]]
  /// Position behind the row and the end of its line.
  let end: Int

  private static let quote = UInt8(ascii: "\"")
  private static let comma = UInt8(ascii: ",")
  private static let newline = UInt8(ascii: "\n")
  /// Commas of a name of several lines. A row that begins with a mark has 26 and more, one with a mark in its last name
  /// that Firebase puts into quotes has six.
  private static let mostCommas = 4

  /// - Parameter limit: end of what the row may have.
  /// - Returns: `nil` when the row does not end before the limit.
  init?(_ bytes: [UInt8], from start: Int, limit: Int) {
    var fields: [[UInt8]] = []
    var position = start
    while true {
      guard let (field, end) = Self.field(bytes, from: position, limit: limit) else { return nil }
      fields.append(field)
      position = end
      guard position < bytes.count, bytes[position] == Self.comma else { break }
      position += 1
    }
    self.fields = fields
    self.end = min(bytes.count, position + 1)
  }

  /// Whether a value holds the rest of a row and the beginning of the next one: its quotation mark was a part of it.
  var isSuspicious: Bool {
    fields.prefix(FileUser.Column.customAttributes).contains { field in
      field.contains(Self.newline) && field.count { $0 == Self.comma } > Self.mostCommas
    }
  }

  /// - Returns: the value, and the position of the comma or newline behind it.
  private static func field(_ bytes: [UInt8], from start: Int, limit: Int) -> (value: [UInt8], end: Int)? {
    guard start < limit, bytes[start] == quote else {
      let end = bytes[start..<limit].firstIndex { $0 == comma || $0 == newline } ?? limit
      return end < limit || limit == bytes.count ? (Array(bytes[start..<end]), end) : nil
    }
    var value: [UInt8] = []
    var position = start + 1
    while position < limit {
      let byte = bytes[position]
      if byte == quote {
        if position + 1 < limit, bytes[position + 1] == quote {
          position += 1
        } else if let end = endOfLine(bytes, position + 1) {
          return (value, end)
        }
      }
      value.append(byte)
      position += 1
    }
    return nil
  }

  private static func endOfLine(_ bytes: [UInt8], _ position: Int) -> Int? {
    guard position < bytes.count else { return position }
    if bytes[position] == UInt8(ascii: "\r") { return endOfLine(bytes, position + 1) }
    return bytes[position] == comma || bytes[position] == newline ? position : nil
  }
}
