internal import FoundationEssentials

/// The protected header of a JWE (RFC 7516, section 4): a flat JSON object.
enum JWEHeader {
  /// Members that the format itself gives a meaning: a caller cannot set them.
  private static let reserved: Set<String> = ["alg", "enc", "kid", "zip", "crit"]

  /// - Throws: ``JOSEError/Code/malformed`` when a member's name is reserved.
  static func encode(_ members: [String: String], keyID: String) throws(JOSEError) -> [UInt8] {
    var json: [UInt8] = []
    json.reserveCapacity(256)
    json.append(contentsOf: #"{"alg":""#.utf8)
    json.append(contentsOf: JWE.algorithm.utf8)
    json.append(contentsOf: #"","enc":""#.utf8)
    json.append(contentsOf: JWE.encryption.utf8)
    json.append(contentsOf: #"","kid":"#.utf8)
    append(keyID, to: &json)
    for name in members.keys.sorted() {
      guard !reserved.contains(name), let value = members[name] else {
        throw JOSEError(.malformed, "the header member \"\(JOSEError.printable(name))\" is reserved")
      }
      json.append(UInt8(ascii: ","))
      append(name, to: &json)
      json.append(UInt8(ascii: ":"))
      append(value, to: &json)
    }
    json.append(UInt8(ascii: "}"))
    return json
  }

  /// Members that are not strings are left out, but those that change how the text is to be read are refused.
  /// - Throws: ``JOSEError/Code/malformed``, ``JOSEError/Code/unsupportedAlgorithm``.
  static func decode(_ json: [UInt8]) throws(JOSEError) -> [String: String] {
    let (header, others) = try members(of: json)
    for name in ["zip", "crit"] where header[name] != nil || others.contains(name) {
      throw JOSEError(.unsupportedAlgorithm, "the header of the sealed text has \"\(name)\", which is not taken here")
    }
    try require("alg", JWE.algorithm, of: header)
    try require("enc", JWE.encryption, of: header)
    return header
  }

  /// - Returns: the members that are strings, and the names of those that are not.
  private static func members(of json: [UInt8]) throws(JOSEError) -> ([String: String], others: [String]) {
    // Nearly all headers are flat and plain: reading them so takes a tenth of the time.
    switch FlatJSON.read(json) {
    case .members(let members): return (members, [])
    case .repeatedName: throw JOSEError(.malformed, "the header of the sealed text has a member twice")
    case .somethingElse: break
    }
    do {
      let members = try JSONDecoder().decode([String: Member].self, from: Data(json))
      return (members.compactMapValues(\.string), members.filter { $0.value.string == nil }.map(\.key))
    } catch {
      throw JOSEError(.malformed, "the header of the sealed text is not a JSON object")
    }
  }

  private static func require(_ name: String, _ value: String, of header: [String: String]) throws(JOSEError) {
    guard header[name] == value else {
      let found = JOSEError.printable(header[name] ?? "nothing")
      throw JOSEError(.unsupportedAlgorithm, "the sealed text's \(name) is \(found) instead of \(value)")
    }
  }

  /// A JSON string (RFC 8259, section 7).
  private static func append(_ text: String, to json: inout [UInt8]) {
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

extension JWEHeader {
  /// A value of any type, of which strings matter.
  private struct Member: Decodable {
    let string: String?

    init(from decoder: any Decoder) throws {
      string = try? decoder.singleValueContainer().decode(String.self)
    }
  }
}
