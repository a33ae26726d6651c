import CountersignEncoding
import Testing

@testable import CountersignCryptography

enum OtherKey {
  static let p8 = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgrCtzgRwImyFvjYb1
    C1wvo9ePRLop0jqM3BAgPljp/wChRANCAARjbuKQ0d+gFjWWXbW+VIM29rXucq+u
    FETu2VSoIzr/0SXZjkM5RgvBFX4gL57u38MIZVh2y8udOu8sCNtvpb1P
    -----END PRIVATE KEY-----
    """
}

@Suite struct SigningKeyTests {
  @Test func `All forms of a key are the same key`() throws {
    let key = try SigningKey(jwk: ascii(RFC7515.ecKey))
    let body = RFC7515.p8.split(separator: "\n").dropFirst().dropLast().joined()
    let der = try #require(Base64.decode(body))
    for file in [ascii(RFC7515.p8), ascii(RFC7515.sec1), ascii("Bag Attributes\n\n" + RFC7515.p8 + "\n"), der] {
      let signed = try JWS.sign([1, 2, 3], with: SigningKey(file: file))
      #expect(try JWS.verify(signed, with: key.verifying).payload == [1, 2, 3])
    }
    let signed = try JWS.sign([1], with: key)
    for file in [RFC7515.publicKey, RFC7515.p8] {
      #expect(try JWS.verify(signed, with: VerifyingKey(file: ascii(file))).payload == [1])
    }
    let jwk = RFC7515.ecKey.replacing(/,"d":"[^"]*"/, with: "")
    #expect(!jwk.contains(#""d""#))
    #expect(try JWS.verify(signed, with: VerifyingKey(jwk: ascii(jwk))).payload == [1])
  }

  @Test func `The key tells its algorithm and its name`() throws {
    #expect(try SigningKey(jwk: ascii(RFC7515.ecKey)).algorithm == .es256)
    #expect(try SigningKey(jwk: ascii(RFC7515.rsaKey)).algorithm == .rs256)
    #expect(try SigningKey(file: ascii(RFC7515.p8), id: "k").id == "k")
    let named = RFC7515.ecKey.replacing(
      #"{"kty""#, with: #"{"kid":"n","use":"sig","key_ops":["sign","verify"],"alg":"ES256","kty""#)
    #expect(try SigningKey(jwk: ascii(named)).id == "n")
    #expect(try VerifyingKey(jwk: ascii(named)).id == "n")
  }

  @Test(
    arguments: [
      ("", "not a private key"), ("hello", "not a private key"), (RFC7515.publicKey, "not a private key"),
      (BadKeys.underPassword, "without a password"), (BadKeys.p384, "not on the curve P-256"),
      (BadKeys.rsa1024, "1024 bits instead of 2048 to 8192"), (BadKeys.ed25519, "neither of type EC nor of type RSA"),
      (String(RFC7515.p8.dropLast(60)), "not a private key"),
    ])
  func `A file that is no usable key is told`(file: String, text: String) {
    let error = #expect(throws: JOSEError.self) { try SigningKey(file: ascii(file), id: "APNSKEY001") }
    #expect(error?.code == .badKey)
    #expect(error?.description.contains("the key \"APNSKEY001\"") == true)
    #expect(error?.description.contains(text) == true, "\(error?.description ?? "")")
  }

  @Test(
    arguments: [
      ("", "not a JSON Web Key"), (String(repeating: "[", count: 513), "not a JSON Web Key"),
      ("[]", "not a JSON Web Key"),
      ("{}", "not a JSON Web Key"),
      (#"{"kty":"oct","k":"AA"}"#, "kty \"oct\""), (#"{"kty":"EC","crv":"P-384"}"#, "not on the curve"),
      (#"{"kty":"EC","crv":"P-256"}"#, "no x"), (#"{"kty":"EC","crv":"P-256","x":"AA"}"#, "1 bytes in its x"),
      (#"{"kty":"RSA","n":"AQ"}"#, "no e"), (#"{"kty":"EC","use":"enc"}"#, "not for signatures"),
      (#"{"kty":"EC","kid":"a","use":"enc"}"#, "the key \"a\""),
      (#"{"kty":"EC","key_ops":["deriveKey"]}"#, "not for signatures: its key_ops"),
      (#"{"kty":"EC","key_ops":[]}"#, "not for signatures: its key_ops"),
      (#"{"kty":"EC","key_ops":"sign"}"#, "another type"),
      (RFC7515.ecKey.replacing(#""d":"j"#, with: #""d":"k"#), "do not match"),
      (RFC7515.ecKey.replacing(#""x":"f"#, with: #""x":"g"#), "do not match"),
      (RFC7515.ecKey.replacing(#"{"kty""#, with: #"{"alg":"RS256","kty""#), "alg \"RS256\" instead of \"ES256\""),
      (RFC7515.rsaKey.replacing(/,"p":"[^"]*"/, with: ""), "no p"),
      (RFC7515.rsaKey.replacing(#""n":"o"#, with: #""n":"p"#), "do not match"),
    ])
  func `A JWK that is no usable key is told`(json: String, text: String) {
    let error = #expect(throws: JOSEError.self) { try SigningKey(jwk: ascii(json)) }
    #expect(error?.code == .badKey)
    #expect(error?.description.contains(text) == true, "\(error?.description ?? "")")
  }

  @Test func `Oversized input is refused`() {
    let long = String(repeating: " ", count: SigningKey.maxFileBytes) + "{}"
    #expect(code { () throws(JOSEError) in try SigningKey(file: ascii(long)) } == .badKey)
    #expect(code { () throws(JOSEError) in try SigningKey(jwk: ascii(long)) } == .badKey)
  }

  @Test func `Keys are never printed`() throws {
    let key = try SigningKey(jwk: ascii(RFC7515.ecKey.replacing(#"{"kty""#, with: #"{"kid":"n","kty""#)))
    var dumped = ""
    dump(key, to: &dumped)
    for text in ["\(key)", String(reflecting: key), dumped] {
      #expect(text.contains("n"))
      #expect(!text.contains("pointer"), "\(text)")
    }
  }
}
