import CountersignCryptography
import Testing

@Suite struct KeyFileTests {
  @Test func `An RSA key in its older form stays the same`() throws {
    let pem = try #require(try RSAKeyFile.traditionalPEM(Array(BadKeys.rsa1024.utf8)))
    #expect(pem.split(separator: "\n") == BadKeys.rsa1024.split(separator: "\n"))
  }

  @Test func `Other keys have none`() throws {
    #expect(try RSAKeyFile.traditionalPEM(Array(BadKeys.ed25519.utf8)) == nil)
    #expect(throws: JOSEError.self) { try RSAKeyFile.traditionalPEM(Array("nothing".utf8)) }
  }

  @Test func `The public part of a key`() throws {
    let info = try PublicKeyFile.subjectPublicKeyInfo(ofPrivateKey: Array(BadKeys.ed25519.utf8))
    // A sequence with the OID of Ed25519 and 32 bytes (RFC 8410, 4).
    #expect(
      info.count == 44 && info.starts(with: [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0]))
  }
}
