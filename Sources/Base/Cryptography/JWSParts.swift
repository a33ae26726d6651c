import CountersignEncoding

extension JWS {
  /// The parts of a compact form (RFC 7515, section 7.1), decoded.
  struct Parts {
    /// The header's JSON.
    let header: [UInt8]
    let payload: [UInt8]
    let signature: [UInt8]
    /// Header and payload as they stand in the text, which the signature covers.
    let signed: [UInt8]

    init(_ text: [UInt8]) throws(JOSEError) {
      let parts = text.split(separator: JWE.dot, maxSplits: 3, omittingEmptySubsequences: false)
      guard parts.count == 3 else {
        throw JOSEError(.malformed, "the signed text has \(parts.count) parts instead of 3")
      }
      header = try Self.decode(parts[0], "header", upTo: JWS.maxHeaderBytes)
      payload = try Self.decode(parts[1], "payload", upTo: JWS.maxPayloadBytes)
      signature = try Self.decode(parts[2], "signature", upTo: SignatureAlgorithm.maxRSABits / 8)
      signed = Array(text[..<parts[1].endIndex])
    }

    private static func decode(_ part: ArraySlice<UInt8>, _ name: String, upTo limit: Int) throws(JOSEError) -> [UInt8]
    {
      guard let bytes = Base64URL.decode(part) else {
        throw JOSEError(.malformed, "the signed text's \(name) is not base64url")
      }
      guard bytes.count <= limit else {
        throw JOSEError(.tooLarge, "the signed text's \(name) has more than \(limit) bytes")
      }
      return bytes
    }
  }
}
