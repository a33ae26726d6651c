internal import CountersignEncoding

/// The JSON of JOSE headers: objects whose members are strings.
enum HeaderJSON {
  /// Headers have a few hundred bytes; with certificates, which nobody here sends, some thousands.
  private static let reader = JSONReader(maxBytes: 16 << 10)

  /// - Parameter text: what it heads, for errors.
  /// - Returns: the members that are strings, and the names of those that are not.
  static func members(of json: [UInt8], in text: String) throws(JOSEError) -> ([String: String], others: [String]) {
    // Nearly all headers are flat and plain: reading them so takes a tenth of the time.
    switch FlatJSON.read(json) {
    case .members(let members): return (members, [])
    case .repeatedName: throw JOSEError(.malformed, "the header of the \(text) has a member twice")
    case .somethingElse: break
    }
    // What two readers would take for two different headers is none, at any depth.
    guard !RepeatedNames.areIn(json) else {
      throw JOSEError(.malformed, "the header of the \(text) has a member twice")
    }
    do {
      let members = try reader.decode([String: Member].self, from: json)
      return (members.compactMapValues(\.string), members.filter { $0.value.string == nil }.map(\.key))
    } catch {
      throw JOSEError(.malformed, "the header of the \(text) is not a JSON object")
    }
  }

  /// A JSON string (RFC 8259, section 7).
  static func append(_ text: String, to json: inout [UInt8]) {
    json.append(quote)
    if text.utf8.contains(where: mustEscape) {
      for byte in text.utf8 { appendEscaped(byte, to: &json) }
    } else {
      json.append(contentsOf: text.utf8)
    }
    json.append(quote)
  }

  private static func appendEscaped(_ byte: UInt8, to json: inout [UInt8]) {
    guard mustEscape(byte) else { return json.append(byte) }
    json.append(backslash)
    guard byte < 0x20 else { return json.append(byte) }
    let digits = Array("0123456789abcdef".utf8)
    json.append(contentsOf: [UInt8(ascii: "u"), digits[0], digits[0], digits[Int(byte >> 4)], digits[Int(byte & 15)]])
  }

  private static func mustEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == quote || byte == backslash
  }

  private static let quote = UInt8(ascii: "\"")
  private static let backslash = UInt8(ascii: "\\")
}

extension HeaderJSON {
  /// A value of any type, of which strings matter.
  private struct Member: Decodable {
    let string: String?

    init(from decoder: any Decoder) throws {
      // A value that is no string is allowed, and ignored: not an error.
      string = try? decoder.singleValueContainer().decode(String.self)
    }
  }
}
