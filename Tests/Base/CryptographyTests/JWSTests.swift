import CountersignEncoding
import Testing

@testable import CountersignCryptography

@Suite struct JWSTests {
  let ec: SigningKey
  let rsa: SigningKey

  init() throws {
    ec = try SigningKey(jwk: ascii(RFC7515.ecKey))
    rsa = try SigningKey(jwk: ascii(RFC7515.rsaKey))
  }

  func sign(header: String, _ payload: String = "{}", with key: SigningKey) throws -> String {
    let signed = "\(Base64URL.encode(ascii(header))).\(Base64URL.encode(ascii(payload)))"
    return "\(signed).\(Base64URL.encode(try key.key.sign(ascii(signed), key.algorithm)))"
  }

  func verifyingCode(_ compact: String, _ key: VerifyingKey) -> JOSEError.Code? {
    code { () throws(JOSEError) in try JWS.verify(compact, with: key) }
  }

  @Test func `Verifies the texts of the standard`() throws {
    let elliptic = try JWS.verify(RFC7515.es256, with: ec.verifying)
    #expect(elliptic.payload == ascii(RFC7515.payload))
    #expect(elliptic.header == ["alg": "ES256"])
    let other = try JWS.verify(RFC7515.rs256, with: rsa.verifying)
    #expect(other.payload == ascii(RFC7515.payload))
    #expect(other.header == ["alg": "RS256"])
  }

  @Test(arguments: [#"{"sub":"a","sub":"b"}"#, #"{"a":{"b":1,"b":2}}"#])
  func `A claim that stands twice is refused`(payload: String) throws {
    #expect(verifyingCode(try sign(header: #"{"alg":"ES256"}"#, payload, with: ec), ec.verifying) == .malformed)
  }

  /// RS256 has one signature for one text, so it is the one in the standard.
  @Test func `Signs the text of the standard`() throws {
    #expect(try JWS.sign(ascii(RFC7515.payload), with: rsa) == RFC7515.rs256)
  }

  @Test func `A signed payload verifies unchanged`() throws {
    for key in [ec, rsa, try SigningKey(file: ascii(RFC7515.p8), id: "ABC1234567")] {
      for count in [0, 1, 1000, JWS.maxPayloadBytes] {
        // Without quotes: what looks like a member that stands twice is refused.
        let payload = SecureRandom.bytes(count).map { $0 | 0x80 }
        let signed = try JWS.sign(payload, with: key, header: ["typ": "JWT"])
        let verified = try JWS.verify(signed, with: key.verifying)
        #expect(verified.payload == payload)
        #expect(verified.header["typ"] == "JWT")
        #expect(verified.header["kid"] == key.id)
      }
    }
  }

  /// The two numbers have 32 bytes each, also when one begins with zeros, as one in 128 signatures has it.
  @Test func `A signature has always64 bytes`() throws {
    for number in 0..<600 {
      let signed = try JWS.sign(ascii("\(number)"), with: ec)
      let signature = try #require(signed.split(separator: ".").last.flatMap { Base64URL.decode(String($0)) })
      #expect(signature.count == 64)
      #expect(throws: Never.self) { try JWS.verify(signed, with: ec.verifying) }
    }
  }

  @Test func `Every part is covered`() throws {
    for (key, text) in [(ec, RFC7515.es256), (rsa, RFC7515.rs256)] {
      let parts = text.split(separator: ".").map(String.init)
      let others = [
        [Base64URL.encode(ascii(#"{"alg":"\#(key.algorithm.rawValue)","x":"y"}"#)), parts[1], parts[2]],
        [parts[0], Base64URL.encode(ascii("{}")), parts[2]], [parts[0], parts[1], Base64URL.encode([])],
        [parts[0], parts[1], Base64URL.encode(Array(repeating: 0, count: 64))],
        [parts[0], parts[1], Base64URL.encode(Array(repeating: 0xFF, count: 64))],
      ]
      for other in others {
        #expect(verifyingCode(other.joined(separator: "."), key.verifying) == .authenticationFailed)
      }
    }
  }

  @Test func `The key decides the algorithm`() throws {
    #expect(verifyingCode(RFC7515.es256, rsa.verifying) == .unsupportedAlgorithm)
    #expect(verifyingCode(RFC7515.rs256, ec.verifying) == .unsupportedAlgorithm)
    for header in [
      #"{"alg":"none"}"#, #"{"alg":"None"}"#, #"{"alg":"HS256"}"#, #"{"alg":"es256"}"#, "{}", #"{"alg":1}"#,
      #"{"alg":"ES256","crit":["x"],"x":"y"}"#, #"{"alg":"ES256","b64":false}"#,
    ] {
      #expect(verifyingCode(try sign(header: header, with: ec), ec.verifying) == .unsupportedAlgorithm, "\(header)")
    }
    let unsigned = "\(Base64URL.encode(ascii(#"{"alg":"none"}"#))).\(Base64URL.encode(ascii("{}")))."
    #expect(verifyingCode(unsigned, ec.verifying) == .unsupportedAlgorithm)
  }

  @Test func `Another key does not verify`() throws {
    let other = try SigningKey(file: ascii(OtherKey.p8), id: "other")
    let signed = try JWS.sign([1], with: ec)
    #expect(verifyingCode(signed, other.verifying) == .authenticationFailed)
    let named = try SigningKey(file: ascii(RFC7515.p8), id: "mine")
    #expect(verifyingCode(try JWS.sign([1], with: named), other.verifying) == .unknownKey)
    #expect(throws: Never.self) { try JWS.verify(try JWS.sign([1], with: named), with: ec.verifying) }
  }

  /// Texts under headers that end the decoder's process: they are read before the signature is checked.
  private static let deepHeaders = [
    String(repeating: "[", count: 513), #"{"alg":"ES256","x":"# + String(repeating: "[", count: 512),
  ]
  .map { "\(Base64URL.encode(ascii($0))).e30.AA" }

  @Test(
    arguments: ["", ".", "a", "a.b", "a.b.c", "..", "a.b.c.d", "*.*.*", "e30.e30.=", "W10.e30.AA"] + deepHeaders)
  func `Malformed tokens are reported`(text: String) {
    #expect(verifyingCode(text, ec.verifying) == .malformed, "\(text)")
  }

  @Test func `Oversized input is refused`() throws {
    let long = Array(repeating: UInt8(0), count: JWS.maxPayloadBytes + 1)
    #expect(code { () throws(JOSEError) in try JWS.sign(long, with: ec) } == .tooLarge)
    let header = ["x": String(repeating: "x", count: JWS.maxHeaderBytes)]
    #expect(code { () throws(JOSEError) in try JWS.sign([], with: ec, header: header) } == .tooLarge)
    #expect(verifyingCode(String(repeating: "x", count: JWS.maxCompactBytes + 1), ec.verifying) == .tooLarge)
    #expect(verifyingCode("e30.\(Base64URL.encode(long)).AA", ec.verifying) == .tooLarge)
  }

  @Test(arguments: ["alg", "kid", "crit", "jku", "jwk", "x5c"])
  func `Reserved members are refused`(name: String) {
    #expect(code { () throws(JOSEError) in try JWS.sign([], with: ec, header: [name: "x"]) } == .malformed)
  }
}
