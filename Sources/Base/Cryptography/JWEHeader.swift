import CountersignEncoding

/// The protected header of a JWE (RFC 7516, section 4): a flat JSON object.
enum JWEHeader {
  /// Members that the format itself gives a meaning: a caller cannot set them.
  private static let reserved: Set<String> = ["alg", "enc", "kid", "zip", "crit"]

  /// Name of the format in errors.
  private static let text = "sealed text"

  /// - Throws: ``JOSEError/Code/malformed`` when a member's name is reserved.
  static func encode(_ members: [String: String], keyID: String) throws(JOSEError) -> [UInt8] {
    var json: [UInt8] = []
    json.reserveCapacity(256)
    json.append(contentsOf: #"{"alg":""#.utf8)
    json.append(contentsOf: JWE.algorithm.utf8)
    json.append(contentsOf: #"","enc":""#.utf8)
    json.append(contentsOf: JWE.encryption.utf8)
    json.append(contentsOf: #"","kid":"#.utf8)
    JSONString.append(keyID, to: &json)
    for name in members.keys.sorted() {
      guard !reserved.contains(name), let value = members[name] else {
        throw JOSEError(.malformed, "the header member \"\(JOSEError.printable(name))\" is reserved")
      }
      json.append(UInt8(ascii: ","))
      JSONString.append(name, to: &json)
      json.append(UInt8(ascii: ":"))
      JSONString.append(value, to: &json)
    }
    json.append(UInt8(ascii: "}"))
    return json
  }

  /// Members that are not strings are left out, but those that change how the text is to be read are refused.
  /// - Throws: ``JOSEError/Code/malformed``, ``JOSEError/Code/unsupportedAlgorithm``.
  static func decode(_ json: [UInt8]) throws(JOSEError) -> [String: String] {
    let (header, others) = try HeaderJSON.members(of: json, in: text)
    for name in ["zip", "crit"] where header[name] != nil || others.contains(name) {
      throw JOSEError(.unsupportedAlgorithm, "the header of the \(text) has \"\(name)\", which is not taken here")
    }
    try require("alg", JWE.algorithm, of: header)
    try require("enc", JWE.encryption, of: header)
    return header
  }

  private static func require(_ name: String, _ value: String, of header: [String: String]) throws(JOSEError) {
    guard header[name] == value else {
      let found = JOSEError.printable(header[name] ?? "nothing")
      throw JOSEError(.unsupportedAlgorithm, "the sealed text's \(name) is \(found) instead of \(value)")
    }
  }
}
