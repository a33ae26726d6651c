import CountersignCOpenSSL
import CountersignEncoding

/// X.509 certificates (RFC 5280) that carry a public key to verifiers which read nothing else.
public enum Certificate {
  /// Longest common name in characters (RFC 5280, appendix A.1).
  public static let maxNameLength = 64

  /// Makes a certificate of a key, signed by itself. The same arguments give the same certificate if the key is of type
  /// RSA: its serial number comes from the public key.
  /// - Parameters:
  ///   - key: of both the subject and the issuer.
  ///   - commonName: of both; 1 to 64 printable ASCII characters.
  ///   - notBefore: seconds since 1970.
  ///   - notAfter: seconds since 1970.
  /// - Returns: DER.
  /// - Throws: ``JOSEError/Code/malformed`` for a name or times that a certificate cannot have,
  ///   ``JOSEError/Code/unavailable``.
  public static func selfSigned(
    _ key: SigningKey, commonName: String, notBefore: Int64, notAfter: Int64
  ) throws(JOSEError) -> [UInt8] {
    guard let certificate = X509_new() else { throw PKey.unavailable() }
    defer { X509_free(certificate) }
    try setTimes(of: certificate, notBefore, notAfter)
    try setName(of: certificate, commonName)
    try setSerialNumber(of: certificate, key.key)
    try addExtension(to: certificate, NID_basic_constraints, notAnAuthority)
    try addExtension(to: certificate, NID_key_usage, forSignatures)
    guard X509_set_version(certificate, version3) == 1, X509_set_pubkey(certificate, key.key.pointer) == 1,
      X509_sign(certificate, key.key.pointer, EVP_sha256()) > 0
    else { throw PKey.unavailable() }
    return try PKey.der { i2d_X509(certificate, $0) }
  }

  /// The certificate as PEM.
  public static func pem(_ der: [UInt8]) -> String {
    var lines: [String] = []
    // 48 bytes make a line of 64 characters (RFC 7468, section 2).
    for start in stride(from: 0, to: der.count, by: 48) {
      lines.append(Base64.encode(Array(der[start..<min(start + 48, der.count)])))
    }
    return "-----BEGIN CERTIFICATE-----\n\(lines.joined(separator: "\n"))\n-----END CERTIFICATE-----\n"
  }

  /// Whether a certificate carries a key and is signed by it. False for bytes that are not a certificate.
  public static func hasKey(_ der: [UInt8], _ key: VerifyingKey) -> Bool {
    defer { OpenSSL.drainErrors() }
    let parsed = der.withUnsafeBufferPointer { der -> OpaquePointer? in
      var next = der.baseAddress
      let parsed = d2i_X509(nil, &next, der.count)
      guard parsed == nil || next == der.baseAddress?.advanced(by: der.count) else {
        X509_free(parsed)
        return nil
      }
      return parsed
    }
    guard let parsed else { return false }
    defer { X509_free(parsed) }
    guard let carried = X509_get0_pubkey(parsed) else { return false }
    return EVP_PKEY_eq(carried, key.key.pointer) == 1 && X509_verify(parsed, key.key.pointer) == 1
  }
}

extension Certificate {
  /// X.509 counts its versions from 0.
  private static let version3 = 2
  /// Times that ASN.1 can write: 1970 to the end of 9999.
  private static let times: ClosedRange<Int64> = 0...253_402_300_799
  /// BasicConstraints without members in DER: the key signs no certificates of others.
  private static let notAnAuthority: [UInt8] = [0x30, 0x00]
  /// KeyUsage in DER: the bit digitalSignature.
  private static let forSignatures: [UInt8] = [0x03, 0x02, 0x07, 0x80]
  /// `MBSTRING_ASC`, a macro of macros.
  private static let ascii: Int32 = 0x1001

  private static func setTimes(
    of certificate: OpaquePointer, _ notBefore: Int64, _ notAfter: Int64
  ) throws(JOSEError) {
    guard times.contains(notBefore), times.contains(notAfter), notBefore < notAfter else {
      throw JOSEError(.malformed, "a certificate ends after it begins, between 1970 and 9999")
    }
    guard ASN1_TIME_set(X509_getm_notBefore(certificate), Int(notBefore)) != nil,
      ASN1_TIME_set(X509_getm_notAfter(certificate), Int(notAfter)) != nil
    else { throw PKey.unavailable() }
  }

  private static func setName(of certificate: OpaquePointer, _ name: String) throws(JOSEError) {
    guard (1...maxNameLength).contains(name.utf8.count), name.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      throw JOSEError(.malformed, "a certificate's name has 1 to \(maxNameLength) printable ASCII characters")
    }
    let subject = X509_get_subject_name(certificate)
    guard X509_NAME_add_entry_by_txt(subject, "CN", ascii, Array(name.utf8), Int32(name.utf8.count), -1, 0) == 1,
      X509_set_issuer_name(certificate, subject) == 1
    else { throw PKey.unavailable() }
  }

  private static func setSerialNumber(of certificate: OpaquePointer, _ key: PKey) throws(JOSEError) {
    var bytes = Array(SHA256.hash(try key.subjectPublicKeyInfo()).prefix(16))
    // Positive, and not 0 (RFC 5280, section 4.1.2.2).
    bytes[0] = bytes[0] & 0x3F | 0x40
    guard let number = BN_bin2bn(bytes, Int32(bytes.count), nil) else { throw PKey.unavailable() }
    defer { BN_free(number) }
    guard BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil else { throw PKey.unavailable() }
  }

  private static func addExtension(
    to certificate: OpaquePointer, _ kind: Int32, _ value: [UInt8]
  ) throws(JOSEError) {
    guard let text = ASN1_OCTET_STRING_new() else { throw PKey.unavailable() }
    defer { ASN1_OCTET_STRING_free(text) }
    let isCritical: Int32 = 1
    guard ASN1_OCTET_STRING_set(text, value, Int32(value.count)) == 1,
      let made = X509_EXTENSION_create_by_NID(nil, kind, isCritical, text)
    else { throw PKey.unavailable() }
    defer { X509_EXTENSION_free(made) }
    guard X509_add_ext(certificate, made, -1) == 1 else { throw PKey.unavailable() }
  }
}
