internal import CountersignCOpenSSL

extension PKey {
  /// The length of each of the two numbers of a signature by ES256.
  private static let coordinateLength = 32

  /// - Returns: the signature as JWS has it (RFC 7518, sections 3.3 and 3.4).
  func sign(_ message: [UInt8], _ algorithm: SignatureAlgorithm) throws(JOSEError) -> [UInt8] {
    guard let context = EVP_MD_CTX_new() else { throw Self.unavailable() }
    defer { EVP_MD_CTX_free(context) }
    var count = 0
    guard EVP_DigestSignInit_ex(context, nil, "SHA2-256", nil, nil, pointer, nil) == 1,
      EVP_DigestSign(context, nil, &count, message, message.count) == 1
    else { throw Self.unavailable() }
    var signature = [UInt8](repeating: 0, count: count)
    guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else { throw Self.unavailable() }
    signature.removeLast(signature.count - count)
    return algorithm == .es256 ? try Self.raw(der: signature) : signature
  }

  /// - Parameter signature: as JWS has it.
  func verify(_ message: [UInt8], signature: [UInt8], _ algorithm: SignatureAlgorithm) throws(JOSEError) -> Bool {
    guard let context = EVP_MD_CTX_new() else { throw Self.unavailable() }
    defer { EVP_MD_CTX_free(context) }
    guard let signature = algorithm == .es256 ? Self.der(raw: signature) : signature else { return false }
    guard EVP_DigestVerifyInit_ex(context, nil, "SHA2-256", nil, nil, pointer, nil) == 1 else {
      throw Self.unavailable()
    }
    let isRight = EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    OpenSSL.drainErrors()
    return isRight
  }

  /// OpenSSL writes a signature as two numbers in DER, JWS as 32 bytes each (RFC 7518, section 3.4).
  private static func raw(der: [UInt8]) throws(JOSEError) -> [UInt8] {
    let parsed = der.withUnsafeBufferPointer { der in
      var start = der.baseAddress
      return d2i_ECDSA_SIG(nil, &start, der.count)
    }
    guard let parsed else { throw unavailable() }
    defer { ECDSA_SIG_free(parsed) }
    var raw = [UInt8](repeating: 0, count: 2 * coordinateLength)
    let isDone = raw.withUnsafeMutableBufferPointer { raw in
      let second = raw.baseAddress?.advanced(by: coordinateLength)
      return BN_bn2binpad(ECDSA_SIG_get0_r(parsed), raw.baseAddress, Int32(coordinateLength)) == coordinateLength
        && BN_bn2binpad(ECDSA_SIG_get0_s(parsed), second, Int32(coordinateLength)) == coordinateLength
    }
    guard isDone else { throw unavailable() }
    return raw
  }

  /// - Returns: nil when it is not 64 bytes long.
  private static func der(raw: [UInt8]) -> [UInt8]? {
    guard raw.count == 2 * coordinateLength, let parsed = ECDSA_SIG_new() else { return nil }
    defer { ECDSA_SIG_free(parsed) }
    let r = BN_bin2bn(Array(raw[..<coordinateLength]), Int32(coordinateLength), nil)
    let s = BN_bin2bn(Array(raw[coordinateLength...]), Int32(coordinateLength), nil)
    guard ECDSA_SIG_set0(parsed, r, s) == 1 else {
      BN_free(r)
      BN_free(s)
      return nil
    }
    var der: UnsafeMutablePointer<UInt8>?
    let count = i2d_ECDSA_SIG(parsed, &der)
    defer { CRYPTO_free(der, #file, #line) }
    guard count > 0, let der else { return nil }
    return Array(UnsafeBufferPointer(start: der, count: Int(count)))
  }
}
