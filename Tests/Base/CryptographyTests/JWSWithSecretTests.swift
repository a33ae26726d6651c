import CountersignEncoding
import Testing

@testable import CountersignCryptography

@Suite struct JWSWithSecretTests {
  /// RFC 7515, appendix A.1.
  private static let standard =
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc1"
    + "9yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
  private let secret =
    Base64URL.decode("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow") ?? []

  @Test func `Verifies the text of the standard`() throws {
    #expect(try JWS.verify(Self.standard, secret: secret) == ascii(RFC7515.payload))
  }

  @Test(
    arguments: [(HMAC.Digest.sha256, "HS256"), (.sha384, "HS384"), (.sha512, "HS512")])
  func `A payload signed with a secret verifies unchanged`(digest: HMAC.Digest, name: String) throws {
    let text = try JWS.sign(ascii("{}"), secret: secret, digest: digest)
    #expect(text.hasPrefix(Base64URL.encode(ascii(#"{"alg":"\#(name)","typ":"JWT"}"#))))
    #expect(try JWS.verify(text, secret: secret) == ascii("{}"))
    #expect(code { () throws(JOSEError) in try JWS.verify(text, secret: ascii("another")) } == .authenticationFailed)
    let unsigned = text.split(separator: ".").dropLast().joined(separator: ".") + "."
    #expect(code { () throws(JOSEError) in try JWS.verify(unsigned, secret: secret) } == .authenticationFailed)
  }

  @Test(arguments: ["none", "HS1", "ES256", "SHA1", ""])
  func `Takes no other algorithm`(name: String) {
    let text = Base64URL.encode(ascii(#"{"alg":"\#(name)"}"#)) + ".e30."
    #expect(code { () throws(JOSEError) in try JWS.verify(text, secret: secret) } == .unsupportedAlgorithm)
    #expect(
      code { () throws(JOSEError) in try JWS.sign([], secret: secret, digest: .sha1) } == .unsupportedAlgorithm)
  }

  @Test(arguments: ["", "a.b", "a.b.c.d", "e30.e30.e30"])
  func `Refuses what is none`(text: String) {
    #expect(code { () throws(JOSEError) in try JWS.verify(text, secret: secret) } != nil)
  }
}
