import CountersignEncoding

/// The protected header of a JWS (RFC 7515, section 4): a flat JSON object.
enum JWSHeader {
  /// Members that the format itself gives a meaning, or that would name a key to trust: a caller cannot set them.
  private static let reserved: Set<String> = [
    "alg", "kid", "crit", "b64", "jku", "jwk", "x5u", "x5c", "x5t", "x5t#S256",
  ]

  /// - Throws: ``JOSEError/Code/malformed`` when a member's name is reserved.
  static func encode(
    _ members: [String: String], algorithm: String, keyID: String?
  ) throws(JOSEError) -> [UInt8] {
    var json = Array(#"{"alg":"\#(algorithm)""#.utf8)
    if let keyID { append("kid", keyID, to: &json) }
    for name in members.keys.sorted() {
      guard !reserved.contains(name), let value = members[name] else {
        throw JOSEError(.malformed, "the header member \"\(JOSEError.printable(name))\" is reserved")
      }
      append(name, value, to: &json)
    }
    json.append(UInt8(ascii: "}"))
    return json
  }

  /// Members that are not strings are left out, but those that change how the text is to be read are refused.
  /// - Throws: ``JOSEError/Code/malformed``, ``JOSEError/Code/unsupportedAlgorithm``.
  static func decode(_ json: [UInt8], algorithms: [String]) throws(JOSEError) -> [String: String] {
    let (header, others) = try HeaderJSON.members(of: json, in: "signed text")
    for name in ["crit", "b64"] where header[name] != nil || others.contains(name) {
      throw JOSEError(.unsupportedAlgorithm, "the header of the signed text has \"\(name)\", which is not taken here")
    }
    guard let algorithm = header["alg"], algorithms.contains(algorithm) else {
      let found = JOSEError.printable(header["alg"] ?? "nothing")
      let wanted = algorithms.joined(separator: ", ")
      throw JOSEError(.unsupportedAlgorithm, "the signed text's alg is \(found) instead of the key's, \(wanted)")
    }
    return header
  }

  private static func append(_ name: String, _ value: String, to json: inout [UInt8]) {
    json.append(UInt8(ascii: ","))
    JSONString.append(name, to: &json)
    json.append(UInt8(ascii: ":"))
    JSONString.append(value, to: &json)
  }
}
