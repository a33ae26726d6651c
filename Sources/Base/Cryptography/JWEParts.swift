import CountersignEncoding

extension JWE {
  /// The parts of a compact form (RFC 7516, section 7.1), decoded.
  struct Parts {
    /// The header's JSON.
    let header: [UInt8]
    /// The header as it stands in the text, which the tag covers.
    let authenticated: [UInt8]
    let iv: [UInt8]
    let ciphertext: [UInt8]
    let tag: [UInt8]

    init(_ text: [UInt8]) throws(JOSEError) {
      let parts = text.split(separator: JWE.dot, maxSplits: 5, omittingEmptySubsequences: false)
      guard parts.count == 5 else {
        throw JOSEError(.malformed, "the sealed text has \(parts.count) parts instead of 5")
      }
      guard parts[1].isEmpty else {
        throw JOSEError(.unsupportedAlgorithm, "the sealed text has an encrypted key, which alg dir has not")
      }
      authenticated = Array(parts[0])
      header = try Self.decode(parts[0], "header", upTo: JWE.maxHeaderBytes)
      iv = try Self.decode(parts[2], "IV", count: AESGCM.ivLength)
      ciphertext = try Self.decode(parts[3], "ciphertext", upTo: JWE.maxPlaintextBytes)
      tag = try Self.decode(parts[4], "tag", count: AESGCM.tagLength)
    }

    private static func decode(_ part: ArraySlice<UInt8>, _ name: String, upTo limit: Int) throws(JOSEError) -> [UInt8]
    {
      guard let bytes = Base64URL.decode(part) else {
        throw JOSEError(.malformed, "the sealed text's \(name) is not base64url")
      }
      guard bytes.count <= limit else {
        throw JOSEError(.tooLarge, "the sealed text's \(name) has more than \(limit) bytes")
      }
      return bytes
    }

    private static func decode(_ part: ArraySlice<UInt8>, _ name: String, count: Int) throws(JOSEError) -> [UInt8] {
      let bytes = try decode(part, name, upTo: count)
      guard bytes.count == count else {
        throw JOSEError(.malformed, "the sealed text's \(name) has \(bytes.count) bytes instead of \(count)")
      }
      return bytes
    }
  }
}
