import Testing

@testable import CountersignCryptography

@Suite struct HMACTests {
  /// RFC 2202, section 3 (SHA-1) and RFC 4231, section 4.3 (the others): test case 2, key "Jefe".
  @Test(
    arguments: [
      (HMAC.Digest.sha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
      (.sha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
      (
        .sha384,
        "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649"
      ),
      (
        .sha512,
        "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd"
          + "caeab1a34d4a6b4b636e070a38bce737"
      ),
    ])
  func `The published examples`(digest: HMAC.Digest, expected: String) {
    let code = HMAC.authenticate(
      Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8), digest: digest)
    #expect(code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == expected)
  }

  @Test func `It agrees with the one for SHA-256`() {
    let key = [UInt8](repeating: 7, count: 100)
    #expect(HMAC.authenticate([1, 2, 3], key: key, digest: .sha256) == HMACSHA256.authenticate([1, 2, 3], key: key))
  }
}
