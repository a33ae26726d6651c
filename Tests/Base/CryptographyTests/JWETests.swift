import CountersignEncoding
import Testing

@testable import CountersignCryptography

@Suite struct JWETests {
  let key: SymmetricKey
  let ring: KeyRing

  init() throws {
    key = try SymmetricKey(id: "2026-01", bytes: Array(0..<32))
    ring = try KeyRing(sealing: key)
  }

  /// A header of our own, sealed right, to try what is done with it.
  func seal(header: String, _ plaintext: [UInt8] = [1]) throws -> String {
    let authenticated = Base64URL.encode(ascii(header))
    let iv = SecureRandom.bytes(12)
    let (ciphertext, tag) = try AESGCM.seal(plaintext, key: key, iv: iv, authenticating: ascii(authenticated))
    return "\(authenticated)..\(Base64URL.encode(iv)).\(Base64URL.encode(ciphertext)).\(Base64URL.encode(tag))"
  }

  func openingCode(_ compact: String) -> JOSEError.Code? {
    code { () throws(JOSEError) in try JWE.open(compact, with: ring) }
  }

  @Test(arguments: [0, 1, 6, 1000, JWE.maxPlaintextBytes])
  func `A sealed payload is opened unchanged`(count: Int) throws {
    let plaintext = SecureRandom.bytes(count)
    let header = ["messageType": "sms.dispatch.v1", "messageID": "a\"b\\c\n\u{1}é🔐", "recipient": "+14155550123"]
    let sealed = try JWE.seal(plaintext, with: key, header: header)
    #expect(JWE.isCompactJWE(sealed))
    let opened = try JWE.open(sealed, with: ring)
    #expect(opened.plaintext == plaintext)
    #expect(opened.header == header.merging(["alg": "dir", "enc": "A256GCM", "kid": "2026-01"]) { a, _ in a })
  }

  @Test func `The form is the one of the standard`() throws {
    let sealed = try JWE.seal(ascii("482913"), with: key, header: ["x": "y"], iv: Array(repeating: 7, count: 12))
    let parts = sealed.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    #expect(parts.count == 5)
    #expect(Base64URL.decode(parts[0]) == ascii(#"{"alg":"dir","enc":"A256GCM","kid":"2026-01","x":"y"}"#))
    #expect(parts[1] == "")
    #expect(Base64URL.decode(parts[2]) == Array(repeating: 7, count: 12))
    #expect(Base64URL.decode(parts[3])?.count == 6)
    #expect(Base64URL.decode(parts[4])?.count == 16)
  }

  @Test func `Every seal has its own IV`() throws {
    let sealed = try (0..<100).map { _ in try JWE.seal([1], with: key).split(separator: ".")[1] }
    #expect(Set(sealed).count == 100)
  }

  /// Made by jwcrypto 1.6.1 with the key 00 01 … 1f.
  @Test func `Opens what another library sealed`() throws {
    let code = try JWE.open(
      "eyJhbGciOiAiZGlyIiwgImVuYyI6ICJBMjU2R0NNIiwgImtpZCI6ICIyMDI2LTAxIiwgIm1lc3NhZ2VUeXBlIjogInNtcy5kaXNwYXRjaC52MSIsICJtZXNz"
        + "YWdlSUQiOiAidjEuc21zLjEiLCAicmVjaXBpZW50IjogIisxNDE1NTU1MDEyMyJ9..MsJWpZrvgHSflQFh.Gk01jTni.pRf2DzBAfCYrzimchZFFQQ",
      with: ring)
    #expect(code.plaintext == ascii("482913"))
    #expect(code.header["messageID"] == "v1.sms.1")
    // Members that are no strings are left out, as RFC 7516, section 4, has it for those that are not understood.
    let other = try JWE.open(
      "eyJhbGciOiAiZGlyIiwgImVuYyI6ICJBMjU2R0NNIiwgImtpZCI6ICIyMDI2LTAxIiwgInR5cCI6ICJ4XCJ5XFx6XG4iLCAiaWF0IjogMTcwMDAwMDAwMCwg"
        + "ImI2NCI6IGZhbHNlLCAibGlzdCI6IFsiYSJdfQ..CpVm3o2ahPTszAxz.rVUOIDHaYHQmWZdl.mMaN8JqlphZLtLdn8BuLOA",
      with: ring)
    #expect(other.plaintext == ascii("grüße 🔐"))
    #expect(other.header == ["alg": "dir", "enc": "A256GCM", "kid": "2026-01", "typ": "x\"y\\z\n"])
  }

  /// Also made by jwcrypto: compressed, sealed with A128GCM, and under a wrapped key.
  @Test(
    arguments: [
      "eyJhbGciOiAiZGlyIiwgImVuYyI6ICJBMjU2R0NNIiwgImtpZCI6ICIyMDI2LTAxIiwgInppcCI6ICJERUYifQ..cq3n_AtQZQo_UDCy.001ZAENR.SVbxMa4kyYTOCPWd7BOv7A",
      "eyJhbGciOiAiZGlyIiwgImVuYyI6ICJBMTI4R0NNIiwgImtpZCI6ICIyMDI2LTAxIn0..mHWNZctKuPlOGbPr.Aw.UP-JpmQY4-IiixyCw1cdpA",
      "eyJhbGciOiAiQTI1NktXIiwgImVuYyI6ICJBMjU2R0NNIiwgImtpZCI6ICIyMDI2LTAxIn0."
        + "HqLmWAPYPq5Lvn-QzlRhR9DUAx_1BUvu5Fw-aUFuAzzhcdQZrCYPeg.gS5Z73DDseb-C1_A.zg.8LAoI8fg5cCB5PxcCOIq0w",
    ])
  func `Other algorithms are refused`(compact: String) {
    #expect(JWE.isCompactJWE(compact))
    #expect(openingCode(compact) == .unsupportedAlgorithm)
  }

  @Test(
    arguments: [
      #"{"alg":"dir","enc":"A256GCM","kid":"2026-01","zip":"DEF"}"#,
      #"{"alg":"dir","enc":"A256GCM","kid":"2026-01","zip":null}"#,
      #"{"alg":"dir","enc":"A256GCM","kid":"2026-01","crit":["exp"],"exp":1}"#,
      #"{"alg":"dir","enc":"A256GCM","kid":"2026-01","crit":"exp"}"#,
      #"{"alg":"none","enc":"A256GCM","kid":"2026-01"}"#,
      #"{"alg":"dir","enc":"A256CBC-HS512","kid":"2026-01"}"#,
      #"{"alg":"DIR","enc":"A256GCM","kid":"2026-01"}"#,
      #"{"alg":["dir"],"enc":"A256GCM","kid":"2026-01"}"#,
      #"{"enc":"A256GCM","kid":"2026-01"}"#,
      #"{"alg":"dir","kid":"2026-01"}"#,
    ])
  func `Headers that ask for more are refused`(header: String) throws {
    #expect(openingCode(try seal(header: header)) == .unsupportedAlgorithm)
  }

  /// Headers that the quick reader leaves to the thorough one, and headers that both refuse.
  @Test(
    arguments: [
      (" { \"alg\" : \"dir\" ,\"enc\":\"A256GCM\"\n,\"kid\":\"2026-01\" } ", true),
      (#"{"alg":"d\u0069r","enc":"A256GCM","kid":"2026-01"}"#, true),
      (#"{"alg":"dir","enc":"A256GCM","kid":"2026-01","é":"ü"}"#, true),
      ("{\"alg\":\"dir\",\"enc\":\"A256GCM\",\"kid\":\"2026-01\",\"\u{E9}\":\"1\",\"e\u{301}\":\"2\"}", false),
      (#"{"alg":"dir","enc":"A256GCM","kid":"2026-01","x":{"y":["z"]}}"#, true),
      (#"{"alg":"dir","enc":"A256GCM","kid":"2026-01"}}"#, false),
      (#"{"alg":"dir","enc":"A256GCM" "kid":"2026-01"}"#, false),
      (#"{"alg":"dir","enc":"A256GCM","kid":"2026-01""#, false),
      (#"{"alg":"dir","alg":"dir","enc":"A256GCM","kid":"2026-01"}"#, false),
      (#"{"alg":"dir","enc":"A256GCM","kid":"x","kid":"2026-01"}"#, false),
      // Members that are not read count too, however deep they are, and a name that may be another one.
      (#"{"alg":"dir","enc":"A256GCM","kid":"2026-01","x":1,"x":2}"#, false),
      (#"{"alg":"dir","enc":"A256GCM","kid":"2026-01","x":[{"y":"1","y":"2"}]}"#, false),
      (#"{"alg":"dir","enc":"A256GCM","kid":"2026-01","x":{"a":{"b":1,"c":{},"b":2}}}"#, false),
      (#"{"alg":"dir","enc":"A256GCM","\u006bid":"x","kid":"2026-01","n":1}"#, false),
      (#"{"alg":"dir","enc":"A256GCM","kid":"2026-01","x":[{"y":"1"},{"y":"2"}],"z":{"y":",\"y\":"}}"#, true),
    ])
  func `Headers in other forms of JSON`(header: String, isTaken: Bool) throws {
    #expect(openingCode(try seal(header: header)) == (isTaken ? nil : .malformed))
  }

  @Test(
    arguments: [
      "", "[]", "{", "null", #"{"alg":"dir","enc":"A256GCM"}"#, #"{"alg":"dir","enc":"A256GCM","kid":7}"#,
      // Nesting that would end the decoder's process, and text in another encoding that it would accept.
      String(repeating: "[", count: 513),
      #"{"alg":"dir","enc":"A256GCM","kid":"2026-01","x":"# + String(repeating: "[", count: 512),
      "\u{FEFF}" + #"{"alg":"dir","enc":"A256GCM","kid":"2026-01"}"#,
      #"{"alg":"dir","enc":"A256GCM","kid":"2026-01"}"#.utf8.map { "\(Unicode.Scalar($0))\0" }.joined(),
    ])
  func `Headers that are none are refused`(header: String) throws {
    #expect(openingCode(try seal(header: header)) == .malformed)
  }

  @Test func `An unknown key is named`() throws {
    let other = try SymmetricKey(id: "2025-07", bytes: Array(1...32))
    let unknown = #expect(throws: JOSEError.self) { try JWE.open(JWE.seal([1], with: other), with: ring) }
    #expect(unknown?.code == .unknownKey)
    #expect(unknown?.keyID == "2025-07")
    #expect(unknown?.description.contains("2025-07") == true)
    // A name from outside does not get into a log line as it is.
    let header = "{\"alg\":\"dir\",\"enc\":\"A256GCM\",\"kid\":\"a\\nb\(String(repeating: "x", count: 1000))\"}"
    let text = "\(Base64URL.encode(ascii(header)))..AAAAAAAAAAAAAAAA.AA.AAAAAAAAAAAAAAAAAAAAAA"
    let foreign = #expect(throws: JOSEError.self) { try JWE.open(text, with: ring) }
    #expect(foreign?.code == .unknownKey)
    #expect(foreign?.keyID?.hasPrefix("a?bxx") == true)
    #expect((foreign?.description.utf8.count ?? .max) < 200)
  }

  @Test func `Another key of the same name does not open`() throws {
    let other = try SymmetricKey(id: "2026-01", bytes: Array(1...32))
    #expect(openingCode(try JWE.seal([1], with: other)) == .authenticationFailed)
  }

  @Test func `Tampering is noticed everywhere`() throws {
    try expectTamperingIsNoticed(
      JWE.seal(ascii("482913"), with: key, header: ["recipient": "+14155550123"]), openingCode)
  }

  @Test func `Parts do not move to another text`() throws {
    let texts = try ["+14155550123", "+14155550199"].map {
      try JWE.seal(ascii("482913"), with: key, header: ["recipient": $0])
    }
    expectPartsAreBound(texts[0], texts[1], openingCode)
  }

  @Test(
    arguments: ["", "....", "a.b.c", "a.b.c.d.e.f", "eyJhbGciOiJkaXIifQ", "\u{0}....", "eyJ9..AAAA.AA.AA"])
  func `Garbage is malformed`(compact: String) {
    #expect(openingCode(compact) == .malformed)
  }

  @Test func `Sizes are bounded`() throws {
    #expect(
      code { () throws(JOSEError) in try JWE.seal(Array(repeating: 0, count: JWE.maxPlaintextBytes + 1), with: key) }
        == .tooLarge)
    let long = String(repeating: "x", count: JWE.maxHeaderBytes)
    #expect(code { () throws(JOSEError) in try JWE.seal([], with: key, header: ["x": long]) } == .tooLarge)
    #expect(openingCode(String(repeating: "a", count: JWE.maxCompactBytes + 1)) == .tooLarge)
    let a = String(repeating: "A", count: 8192)
    #expect(openingCode("\(a)..AAAAAAAAAAAAAAAA.AA.AAAAAAAAAAAAAAAAAAAAAA") == .tooLarge)
  }

  @Test(arguments: ["alg", "enc", "kid", "zip", "crit", "epk"])
  func `Reserved members are refused`(name: String) {
    #expect(code { () throws(JOSEError) in try JWE.seal([1], with: key, header: [name: "x"]) } == .malformed)
  }

  @Test(
    arguments: [
      "", "482913", "a.b.c.d.e", "c1234.0.rrtts.abcdef", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "e....f",
      "e. . . . ", "hello....",
    ])
  func `Plain text is not opened`(text: String) {
    #expect(JWE.isCompactJWE(text) == (text == "e....f"))
  }
}
