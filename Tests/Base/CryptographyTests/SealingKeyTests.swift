import CountersignEncoding
import Testing

@testable import CountersignCryptography

/// Key agreement of RFC 7518, appendix C.
enum RFC7518 {
  static let alice = #"""
    {"kty":"EC","crv":"P-256","kid":"alice","x":"gI0GAILBdu7T53akrFmMyGcsF3n5dO7MmwNBHKW5SV0",
     "y":"SLW_xSffzlPWrHEVI30DHM_4egVwt3NQqeUD7nMFpps","d":"0_NxaRPUMQoAJt50Gz8YiTr8gRTwyEaCumd-MToTmIo"}
    """#
  static let bob = #"""
    {"kty":"EC","crv":"P-256","kid":"bob","x":"weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ",
     "y":"e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck","d":"VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw"}
    """#

  static func withoutPrivatePart(_ jwk: String) -> String { jwk.replacing(/,"d":"[^"]*"/, with: "") }
}

@Suite struct SealingKeyTests {
  @Test func `A key crosses JSON, and its public part has no secret`() throws {
    let key = try PrivateSealingKey.generate(id: "2026-07")
    let json = try key.jwk()
    #expect(json.contains(#""d":""#) && !key.publicKey.jwk.contains(#""d""#))
    let read = try PrivateSealingKey(jwk: ascii(json))
    #expect(read.id == "2026-07" && read.publicKey == key.publicKey)
    let publicKey = try PublicSealingKey(jwk: ascii(key.publicKey.jwk))
    #expect(publicKey == key.publicKey)
    #expect(publicKey.jwk == key.publicKey.jwk)
    #expect(try JWE.open(JWE.seal([1, 2], to: publicKey), with: read).plaintext == [1, 2])
  }

  @Test func `Each key is another one`() throws {
    let keys = try (0..<20).map { _ in try PrivateSealingKey.generate(id: "a").publicKey }
    #expect(Set(keys).count == 20)
  }

  @Test func `A number with leading zeros keeps its length`() throws {
    // One key in 43 has a zero byte before one of its three numbers.
    for _ in 0..<300 {
      let json = try PrivateSealingKey.generate(id: "a").jwk()
      for match in json.matches(of: /"[xyd]":"([^"]*)"/) { #expect(match.1.utf8.count == 43) }
      _ = try PrivateSealingKey(jwk: ascii(json))
    }
  }

  @Test func `A key whose operations are those of an agreement is taken, and a private one without any is not`() throws
  {
    func key(_ json: String, _ operations: String) -> [UInt8] {
      ascii(json.replacing(#""kty""#, with: #""key_ops":\#(operations),"kty""#))
    }
    let publicPart = RFC7518.withoutPrivatePart(RFC7518.bob)
    for operations in ["[]", #"["deriveBits"]"#, #"["other","deriveKey"]"#] {
      _ = try PublicSealingKey(jwk: key(publicPart, operations))
    }
    _ = try PrivateSealingKey(jwk: key(RFC7518.bob, #"["deriveKey"]"#))
    #expect(throws: JOSEError.self) { try PrivateSealingKey(jwk: key(RFC7518.bob, "[]")) }
  }

  @Test(
    arguments: [
      ("", "not a JSON Web Key"), ("[]", "not a JSON Web Key"), ("{}", "not a JSON Web Key"),
      (#"{"kty":"EC","crv":"P-256"}"#, "has no kid"),
      (#"{"kty":"RSA","kid":"a","n":"AQAB","e":"AQAB"}"#, #"kty "RSA" instead of "EC""#),
      (#"{"kty":"oct","kid":"a","k":"AA"}"#, #"kty "oct" instead of "EC""#),
      (#"{"kty":"EC","kid":"a","crv":"P-384"}"#, "not on the curve P-256"),
      (#"{"kty":"EC","kid":"a","crv":"P-256","x":"AA","y":"AA"}"#, "1 bytes in its x instead of 32"),
      (RFC7518.bob, "is a private key"),
      (RFC7518.withoutPrivatePart(RFC7518.bob).replacing("bob", with: "b b"), "printable ASCII"),
      (RFC7518.withoutPrivatePart(RFC7518.bob).replacing("bob", with: ""), "printable ASCII"),
      (RFC7518.withoutPrivatePart(RFC7518.bob).replacing(#""kty""#, with: #""use":"sig","kty""#), "not for encryption"),
      (
        RFC7518.withoutPrivatePart(RFC7518.bob).replacing(#""kty""#, with: #""key_ops":["verify"],"kty""#),
        "not for encryption: its key_ops"
      ),
      (
        RFC7518.withoutPrivatePart(RFC7518.bob).replacing(#""kty""#, with: #""alg":"ES256","kty""#),
        #"alg "ES256" instead of "ECDH-ES""#
      ),
      // A point beside the curve: with it the owner's answers would give away the private key.
      (RFC7518.withoutPrivatePart(RFC7518.bob).replacing(#""x":"w"#, with: #""x":"x"#), "do not match"),
      (InvalidPoint.origin("a"), "do not match"), (InvalidPoint.beyondTheField("a"), "do not match"),
    ])
  func `A public key that cannot be used is told`(json: String, text: String) {
    let error = #expect(throws: JOSEError.self) { try PublicSealingKey(jwk: ascii(json)) }
    #expect(error?.code == .badKey)
    #expect(error?.description.contains(text) == true, "\(error?.description ?? "")")
  }

  @Test func `A private key that cannot be used is told`() {
    for (json, text) in [
      (RFC7518.withoutPrivatePart(RFC7518.bob), "is a public key"),
      (#"{"kty":"oct","kid":"a","k":"AAAA"}"#, #"has kty "oct" instead of "EC""#),
      (RFC7518.bob.replacing(#""d":"V"#, with: #""d":"W"#), "do not match"),
      (RFC7518.bob.replacing(#""x":"w"#, with: #""x":"x"#), "do not match"),
    ] {
      let error = #expect(throws: JOSEError.self) { try PrivateSealingKey(jwk: ascii(json)) }
      let said = error?.description ?? ""
      #expect(error?.code == .badKey && said.contains(text) && !said.contains("DZpDXXK8"), "\(said)")
    }
    #expect(code { () throws(JOSEError) in try PrivateSealingKey.generate(id: "a b") } == .badKey)
  }

  @Test func `A key from a message is bounded`() {
    let spare = PublicSealingKey.maxBytes - RFC7518.withoutPrivatePart(RFC7518.bob).utf8.count
    let longest = RFC7518.withoutPrivatePart(RFC7518.bob) + String(repeating: " ", count: spare)
    #expect(code { () throws(JOSEError) in try PublicSealingKey(jwk: ascii(longest)) } == nil)
    #expect(code { () throws(JOSEError) in try PublicSealingKey(jwk: ascii(longest + " ")) } == .badKey)
  }

  @Test func `Bytes of any kind are refused, not fatal`() throws {
    let jwk = ascii(RFC7518.withoutPrivatePart(RFC7518.bob))
    for length in 0..<200 { _ = try? PublicSealingKey(jwk: SecureRandom.bytes(length)) }
    for index in jwk.indices {
      var changed = jwk
      changed[index] = SecureRandom.bytes(1)[0]
      _ = try? PublicSealingKey(jwk: changed)
      _ = try? PublicSealingKey(jwk: Array(jwk[..<index]))
      _ = try? PrivateSealingKeys(jwkSet: changed)
    }
    #expect(code { () throws(JOSEError) in try PublicSealingKey(jwk: Array(jwk.dropLast())) } == .badKey)
  }

  @Test func `Keys are never printed`() throws {
    let key = try PrivateSealingKey(jwk: ascii(RFC7518.bob))
    var dumped = ""
    dump(key, to: &dumped)
    for text in ["\(key)", String(reflecting: key), dumped, "\(try PrivateSealingKeys([key]))"] {
      #expect(text.contains("bob"))
      #expect(!text.contains("VEmDZ") && !text.contains("pointer"), "\(text)")
    }
  }
}

@Suite struct SealingKeySetTests {
  @Test func `A set opens with all its keys, and the first is sealed to`() throws {
    let old = try PrivateSealingKeys.rotate(nil, id: "old")
    let new = try PrivateSealingKeys.rotate(old, id: "new")
    let read = try PrivateSealingKeys(jwkSet: ascii(new.jwkSet()))
    #expect(read.first?.id == "new" && read["old"] != nil && read["other"] == nil)
    let former = try #require(PublicSealingKeys(jwkSet: ascii(old.publicSet)).sealing)
    let present = try #require(PublicSealingKeys(jwkSet: ascii(read.publicSet)).sealing)
    #expect(former.id == "old" && present.id == "new")
    for (key, plaintext) in [(former, [1] as [UInt8]), (present, [2])] {
      #expect(try JWE.open(JWE.seal(plaintext, to: key), with: read).plaintext == plaintext)
    }
    #expect(
      code { () throws(JOSEError) in try JWE.open(JWE.seal([1], to: present), with: old) } == .unknownKey)
  }

  @Test func `The public set has no private key`() throws {
    let keys = try PrivateSealingKeys([PrivateSealingKey(jwk: ascii(RFC7518.bob))])
    #expect(!keys.publicSet.contains(#""d""#) && !keys.publicSet.contains("VEmDZ"))
    #expect(try keys.jwkSet().contains("VEmDZ"))
    let secret = try ascii(keys.jwkSet())
    #expect(code { () throws(JOSEError) in try PublicSealingKeys(jwkSet: secret) } == .badKey)
  }

  @Test func `A set that cannot be used is refused`() throws {
    let key = RFC7518.bob
    for json in ["", "[]", "{}", #"{"keys":[]}"#, #"{"keys":7}"#, #"{"keys":[\#(key),\#(key)]}"#, key] {
      #expect(code { () throws(JOSEError) in try PrivateSealingKeys(jwkSet: ascii(json)) } == .badKey, "\(json)")
    }
    let long = #"{"keys":[\#(key)]}"# + String(repeating: " ", count: KeyRing.maxSetBytes)
    #expect(code { () throws(JOSEError) in try PrivateSealingKeys(jwkSet: ascii(long)) } == .badKey)
    let taken = try PrivateSealingKeys.rotate(nil, id: "a")
    #expect(code { () throws(JOSEError) in try PrivateSealingKeys.rotate(taken, id: "a") } == .badKey)
  }
}

enum InvalidPoint {
  static func jwk(x: [UInt8], y: [UInt8], id: String) -> String {
    #"{"kty":"EC","crv":"P-256","kid":"\#(id)","x":"\#(Base64URL.encode(x))","y":"\#(Base64URL.encode(y))"}"#
  }

  static func origin(_ id: String) -> String {
    jwk(x: Array(repeating: 0, count: 32), y: Array(repeating: 0, count: 32), id: id)
  }

  static func beyondTheField(_ id: String) -> String {
    jwk(x: Array(repeating: 0xFF, count: 32), y: Array(repeating: 0xFF, count: 32), id: id)
  }
}
