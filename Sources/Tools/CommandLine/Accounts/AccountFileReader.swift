import CountersignEncoding
import CountersignMessages

/// Users of a file in a format of Firebase's `auth:export`, row by row, in bounded memory.
struct AccountFileReader {
  private enum Place {
    case first, behindRow, end
  }

  private let file: AccountFileBytes
  private let format: AccountFileFormat
  private var place = Place.first

  /// - Throws: ``CommandLineError`` for a file that cannot be read, or that is not of the format.
  init(path: String, format: AccountFileFormat) throws(CommandLineError) {
    file = try AccountFileBytes(path: path)
    self.format = format
    if format == .json {
      for text in ["{", "\"users\"", ":", "["] where try !file.take(text) {
        throw file.wrong("a file of users begins with {\"users\": [")
      }
    }
  }

  /// The next row, or `nil` at the end. Blocks.
  /// - Throws: ``CommandLineError`` when what follows cannot be read, or is cut off. A row that is wrong by itself is
  ///   returned with its error.
  mutating func next() throws(CommandLineError) -> AccountFileRow? {
    switch format {
    case .csv: try nextLine()
    case .json: try nextObject()
    }
  }

  // MARK: CSV

  private func nextLine() throws(CommandLineError) -> AccountFileRow? {
    try file.skip { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
    guard file.next != nil else { return nil }
    let line = file.line
    let row = CSVRow(file.bytes, from: file.start, limit: file.limit)
    guard let row, FileUser.Column.counts.contains(row.fields.count), !row.isSuspicious else {
      // Only the first line is lost: a mark in it may be part of a value that was not quoted.
      try file.skip { $0 != UInt8(ascii: "\n") }
      return AccountFileRow(line: line, .failure(Self.error(columns: row?.fields.count)))
    }
    file.skip(to: row.end)
    return .make(line) { () throws(AccountFileError) in try FileUser(row) }
  }

  private static func error(columns: Int?) -> AccountFileError {
    let bounds = FileUser.Column.counts
    if let columns, !bounds.contains(columns) {
      return AccountFileError("has \(columns) columns rather than \(bounds.lowerBound) to \(bounds.upperBound)")
    }
    return AccountFileError("a quotation mark is not closed, or the row is too long")
  }

  // MARK: JSON

  private mutating func nextObject() throws(CommandLineError) -> AccountFileRow? {
    if place == .end { return nil }
    if try file.take("]") {
      place = .end
      let isClosed = try file.take("}")
      try file.skipSpace()
      guard isClosed, file.next == nil else { throw file.wrong("nothing but } may stand behind the users") }
      return nil
    }
    if place == .behindRow, try !file.take(",") { throw file.wrong("a comma or the end of the users is missing") }
    try file.skipSpace()
    guard file.next == UInt8(ascii: "{") else { throw file.wrong("a user in braces is missing") }
    place = .behindRow
    return try object()
  }

  private func object() throws(CommandLineError) -> AccountFileRow {
    let line = file.line
    var end = JSONObjectEnd()
    let limit = file.limit
    guard let position = end.find(in: file.bytes, from: file.start, to: limit) else {
      file.skip(to: limit)
      try skipObject(&end)
      return AccountFileRow(
        line: line, .failure(AccountFileError("is longer than \(AccountFileBytes.longestRow) bytes")))
    }
    let object = file.bytes[file.start..<position]
    file.skip(to: position)
    return .make(line) { () throws(AccountFileError) in try FileUser(json: object) }
  }

  private func skipObject(_ end: inout JSONObjectEnd) throws(CommandLineError) {
    while true {
      try file.load()
      guard file.next != nil else { throw file.wrong("the file ends within a user") }
      let position = end.find(in: file.bytes, from: file.start, to: file.bytes.count)
      file.skip(to: position ?? file.bytes.count)
      if position != nil { return }
    }
  }
}

extension AccountFileRow {
  fileprivate static func make(_ line: Int, _ read: () throws(AccountFileError) -> FileUser) -> AccountFileRow {
    do throws(AccountFileError) {
      let user = try read()
      return AccountFileRow(line: line, .success(user.fields), hasOwnHash: user.hasOwnHash)
    } catch {
      return AccountFileRow(line: line, .failure(error))
    }
  }
}

/// Search for the end of a JSON object, in parts.
struct JSONObjectEnd {
  private var depth = 0
  private var isInText = false
  private var isEscaped = false

  /// - Returns: position behind the closing brace.
  mutating func find(in bytes: [UInt8], from start: Int, to limit: Int) -> Int? {
    for position in start..<limit {
      let byte = bytes[position]
      if isEscaped {
        isEscaped = false
      } else if isInText {
        isEscaped = byte == UInt8(ascii: "\\")
        isInText = byte != UInt8(ascii: "\"")
      } else {
        switch byte {
        case UInt8(ascii: "\""): isInText = true
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        default: break
        }
        if depth == 0 { return position + 1 }
      }
    }
    return nil
  }
}
