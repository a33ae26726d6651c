import CountersignEncoding
import Testing

@testable import CountersignCryptography

@Suite struct ConcatKDFTests {
  @Test func `The key is that of RFC 7518, appendix C`() throws {
    let alice = try PrivateSealingKey(jwk: ascii(RFC7518.alice))
    let bob = try PrivateSealingKey(jwk: ascii(RFC7518.bob))
    let secret = try alice.key.sharedSecret(with: bob.publicKey.key)
    #expect(
      secret == [
        158, 86, 217, 29, 129, 113, 53, 211, 114, 131, 66, 131, 191, 132, 38, 156, 251, 49, 110, 163, 218, 128, 106,
        72, 246, 218, 167, 121, 140, 254, 144, 196,
      ])
    #expect(try bob.key.sharedSecret(with: alice.publicKey.key) == secret)
    let parties = ConcatKDF.Parties(u: ascii("Alice"), v: ascii("Bob"))
    let key = ConcatKDF.derive(secret, algorithm: "A128GCM", parties: parties, bits: 128)
    #expect(Base64URL.encode(key) == "VqqN6vgjbSBcIijNcacQGg")
  }
}

@Suite struct JWEToPublicKeyTests {
  let bob: PrivateSealingKey
  let keys: PrivateSealingKeys
  let ephemeral: PublicSealingKey

  init() throws {
    bob = try PrivateSealingKey(jwk: ascii(RFC7518.bob))
    keys = try PrivateSealingKeys([bob, .generate(id: "former")])
    ephemeral = try PublicSealingKey(id: "", key: PKey.generateP256())
  }

  func openingCode(_ compact: String) -> JOSEError.Code? {
    code { () throws(JOSEError) in try JWE.open(compact, with: keys) }
  }

  func seal(header: String) throws -> String {
    var secret = try ephemeral.key.sharedSecret(with: bob.publicKey.key)
    secret = ConcatKDF.derive(secret, algorithm: "A256GCM", parties: .none, bits: 256)
    let key = try SymmetricKey(id: "bob", bytes: secret)
    return try JWE.seal([1], with: key, headerJSON: ascii(header), iv: SecureRandom.bytes(12))
  }

  var epk: String { ephemeral.ephemeralMembers }

  @Test(arguments: [0, 1, 6, 1000, JWE.maxPlaintextBytes])
  func `A sealed payload is opened unchanged`(count: Int) throws {
    let plaintext = SecureRandom.bytes(count)
    let header = ["messageType": "account.signInWithPhone.v1", "messageID": "a\"b\\c\u{1}é🔐", "recipient": "accounts"]
    let sealed = try JWE.seal(plaintext, to: bob.publicKey, header: header)
    #expect(JWE.isCompactJWE(sealed))
    let opened = try JWE.open(sealed, with: keys)
    #expect(opened.plaintext == plaintext)
    #expect(opened.header == header.merging(["alg": "ECDH-ES", "enc": "A256GCM", "kid": "bob"]) { a, _ in a })
    #expect(try JWE.open(sealed, with: bob).plaintext == plaintext)
  }

  @Test func `The form is the one of the standard, with a fresh key each time`() throws {
    var points: Set<String> = []
    for _ in 0..<20 {
      let parts = try JWE.seal([1], to: bob.publicKey, header: ["x": "y"])
        .split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      #expect(parts.count == 5 && parts[1] == "")
      let header = String(decoding: try #require(Base64URL.decode(parts[0])), as: UTF8.self)
      let found = try #require(
        header.wholeMatch(
          of:
            /\{"alg":"ECDH-ES","enc":"A256GCM","kid":"bob","epk":\{"crv":"P-256","kty":"EC","x":"([^"]{43})","y":"[^"]{43}"\},"x":"y"\}/
        ))
      points.insert(String(found.1))
    }
    #expect(points.count == 20)
  }

  /// Made by jwcrypto 1.6.1: without and with the names of the parties.
  @Test(
    arguments: [
      "eyJhbGciOiJFQ0RILUVTIiwiZW5jIjoiQTI1NkdDTSIsImVwayI6eyJjcnYiOiJQLTI1NiIsImt0eSI6IkVDIiwieCI6ImhKdk4tUThSbkRBUGRTbTNxN0"
        + "VFQktJYmJHaDhlU1YyZ0c2SWF5RzBGMGciLCJ5IjoiOTlRRmJaeHFNdVRFd1ptQ2IxOWI3Z0ltLXlrc0Y4V2pZZTVjbE1sci1XbyJ9LCJraWQiOiJib2Ii"
        + "LCJyZWNpcGllbnQiOiJhY2NvdW50cyJ9..Ab5i5VTWqfzGUfVT.8pvcImjS.flX1OyTbZeU44-y8WdnVkw",
      "eyJhbGciOiJFQ0RILUVTIiwiYXB1IjoiUVd4cFkyVSIsImFwdiI6IlFtOWkiLCJlbmMiOiJBMjU2R0NNIiwiZXBrIjp7ImNydiI6IlAtMjU2Iiwia3R5Ijoi"
        + "RUMiLCJ4IjoieEM4QjZnTHY0TlF5MlF3SGZMeGJvZGZvcEkzMVBXT3NvV2hrOWFIeGlKMCIsInkiOiJKNmg1T2F6ajNMSldFbXpuUDI0Q0hDWXhSZm1T"
        + "a2FRV0ZfanBUVXp0ZmVFIn0sImtpZCI6ImJvYiIsInJlY2lwaWVudCI6ImFjY291bnRzIn0..19lw4hOc9gzuEBhI.Ia8kDSIe.mO60bqXBmbAIkQnKk4e9DA",
    ])
  func `Opens what another library sealed`(compact: String) throws {
    let opened = try JWE.open(compact, with: keys)
    #expect(opened.plaintext == ascii("482913"))
    #expect(opened.header["recipient"] == "accounts")
  }

  /// Also made by jwcrypto: with a wrapped key, with A128GCM, and compressed.
  @Test(
    arguments: [
      "eyJhbGciOiJFQ0RILUVTK0EyNTZLVyIsImVuYyI6IkEyNTZHQ00iLCJlcGsiOnsiY3J2IjoiUC0yNTYiLCJrdHkiOiJFQyIsIngiOiJJQmRILXFRcDQ5ZVVB"
        + "ZVR3QWt2dHI5Z3Z4TTYtanMtd182ZER2YzF1aW9JIiwieSI6IkZfYXd0MzhTVFVOLXdiSVVoSW1va1RVWlp3SUJHV1N3T3kzZmxmbGhMTmMifSwia2lk"
        + "IjoiYm9iIn0.RqWehNKkZsbm_PadYoKNbS-SRIaqXIFzj57viM3EdyuleaVJUJGgFA.EDiRS6V9NGmk1Z7U.E1rb28h6.0bHOeScOgE66CKRwzanTmQ",
      "eyJhbGciOiJFQ0RILUVTIiwiZW5jIjoiQTEyOEdDTSIsImVwayI6eyJjcnYiOiJQLTI1NiIsImt0eSI6IkVDIiwieCI6ImFPNjZF"
        + "MW1OcHI0Vzl4MEpqdE1KRVpFcHUyVF9VRVNsd2NpRGRLeGlIdDgiLCJ5IjoiajFZekVKRFp5aUh5dzhPSWZBR1BEOUtxZERrdDNL"
        + "LXdOblFWVEp2Wl85cyJ9LCJraWQiOiJib2IifQ..MuVeIDcglRtDYTp2.z5asiUua.Lb_PniPf391pY1qIA-QWqw",
      "eyJhbGciOiJFQ0RILUVTIiwiZW5jIjoiQTI1NkdDTSIsImVwayI6eyJjcnYiOiJQLTI1NiIsImt0eSI6IkVDIiwieCI6IjBIcDYwMkxPdlVkdWJ0RjdJWnBf"
        + "Umg4M0FNUkZFTk5MaE9UQUtNSEtuMTQiLCJ5IjoiM05DWHFRbkJLd3RPa2EwdTFoc3J6bVUyd0NTay04ZmF4NkJ1QTV5SW1sRSJ9LCJraWQiOiJib2Ii"
        + "LCJ6aXAiOiJERUYifQ..Yv25OGTu4yjVIDDq.kSAaC1XMyUU.Nu7oSzQjeen1CVkGuDI8Pw",
    ])
  func `Other algorithms are refused`(compact: String) {
    #expect(openingCode(compact) == .unsupportedAlgorithm)
  }

  @Test(
    arguments: [
      #""alg":"ECDH-ES","enc":"A256GCM","zip":"DEF""#, #""alg":"ECDH-ES","enc":"A256GCM","zip":null"#,
      #""alg":"ECDH-ES","enc":"A256GCM","crit":["exp"],"exp":1"#, #""alg":"none","enc":"A256GCM""#,
      #""alg":"dir","enc":"A256GCM""#, #""alg":"ECDH-1PU","enc":"A256GCM""#, #""alg":"ecdh-es","enc":"A256GCM""#,
      #""alg":"ECDH-ES","enc":"A256CBC-HS512""#, #""alg":["ECDH-ES"],"enc":"A256GCM""#, #""alg":"ECDH-ES""#,
      #""enc":"A256GCM""#,
    ])
  func `Headers that ask for more, or for another algorithm, are refused`(members: String) throws {
    #expect(openingCode(try seal(header: #"{"kid":"bob","epk":\#(epk),\#(members)}"#)) == .unsupportedAlgorithm)
  }

  @Test func `Each of the two ways opens only its own`() throws {
    let ring = try KeyRing(sealing: SymmetricKey(id: "bob", bytes: Array(0..<32)))
    let toKey = try JWE.seal([1], to: bob.publicKey)
    let shared = try JWE.seal([1], with: #require(ring.sealing))
    #expect(code { () throws(JOSEError) in try JWE.open(toKey, with: ring) } == .unsupportedAlgorithm)
    #expect(openingCode(shared) == .unsupportedAlgorithm)
  }

  @Test func `The header that the other refusals change is right`() throws {
    #expect(openingCode(try seal(header: #"{"alg":"ECDH-ES","enc":"A256GCM","kid":"bob","epk":\#(epk)}"#)) == nil)
  }

  @Test func `An ephemeral key that cannot be used is refused`() throws {
    let onTheCurve = epk
    for bad in [
      "null", "7", "[]", "{}", #""epk""#, onTheCurve.replacing("P-256", with: "P-384"),
      onTheCurve.replacing(#""kty":"EC""#, with: #""kty":"OKP""#),
      onTheCurve.replacing(/"y":"..../, with: #""y":"AAAA"#), onTheCurve.replacing(/"x":"[^"]*"/, with: #""x":"AA""#),
      onTheCurve.replacing(/,"y":"[^"]*"/, with: ""), InvalidPoint.origin("e"), InvalidPoint.beyondTheField("e"),
      RFC7518.alice, onTheCurve.replacing("{", with: #"{"use":"sig","#),
    ] {
      let header = #"{"alg":"ECDH-ES","enc":"A256GCM","kid":"bob","epk":\#(bad)}"#
      #expect(openingCode(try seal(header: header)) == .malformed, "\(bad)")
    }
    for header in [
      #"{"alg":"ECDH-ES","enc":"A256GCM","kid":"bob"}"#, #"{"alg":"ECDH-ES","enc":"A256GCM","epk":\#(epk)}"#,
      #"{"alg":"ECDH-ES","enc":"A256GCM","kid":"bob","epk":\#(epk),"epk":\#(epk)}"#,
      #"{"alg":"ECDH-ES","enc":"A256GCM","kid":"bob","epk":\#(epk.replacing(#""kty""#, with: #""x":"AA","kty""#))}"#,
      #"{"alg":"ECDH-ES","enc":"A256GCM","kid":"bob","epk":\#(epk),"apu":"="}"#,
      #"{"alg":"ECDH-ES","enc":"A256GCM","kid":"bob","epk":\#(epk),"apv":7}"#,
    ] {
      #expect(openingCode(try seal(header: header)) == .malformed, "\(header)")
    }
  }

  @Test func `The names of the parties go into the key`() throws {
    for name in ["apu", "apv"] {
      let header = #"{"alg":"ECDH-ES","enc":"A256GCM","kid":"bob","epk":\#(epk),"\#(name)":"QWxpY2U"}"#
      #expect(openingCode(try seal(header: header)) == .authenticationFailed)
    }
  }

  @Test func `Another key does not open`() throws {
    let sealed = try JWE.seal([1], to: bob.publicKey)
    let namesake = try PrivateSealingKey.generate(id: "bob")
    #expect(code { () throws(JOSEError) in try JWE.open(sealed, with: namesake) } == .authenticationFailed)
    let other = try PrivateSealingKey.generate(id: "other")
    let error = #expect(throws: JOSEError.self) { try JWE.open(sealed, with: other) }
    #expect(error?.code == .unknownKey && error?.keyID == "bob")
  }

  @Test func `Tampering is noticed everywhere`() throws {
    try expectTamperingIsNoticed(
      JWE.seal(ascii("482913"), to: bob.publicKey, header: ["recipient": "accounts"]), openingCode)
  }

  @Test func `Parts do not move to another text`() throws {
    let texts = try ["m1", "m2"].map { try JWE.seal(ascii("482913"), to: bob.publicKey, header: ["messageID": $0]) }
    expectPartsAreBound(texts[0], texts[1], openingCode)
  }

  @Test func `Sizes are bounded`() throws {
    let large = [UInt8](repeating: 0, count: JWE.maxPlaintextBytes + 1)
    #expect(code { () throws(JOSEError) in try JWE.seal(large, to: bob.publicKey) } == .tooLarge)
    let long = String(repeating: "x", count: JWE.maxHeaderBytes)
    #expect(code { () throws(JOSEError) in try JWE.seal([], to: bob.publicKey, header: ["x": long]) } == .tooLarge)
    #expect(openingCode(String(repeating: "a", count: JWE.maxCompactBytes + 1)) == .tooLarge)
  }

  @Test(arguments: ["alg", "enc", "kid", "zip", "crit", "epk", "apu", "apv"])
  func `Reserved members are refused`(name: String) {
    #expect(code { () throws(JOSEError) in try JWE.seal([1], to: bob.publicKey, header: [name: "x"]) } == .malformed)
  }

  @Test(
    arguments: ["", "....", "a.b.c", "a.b.c.d.e.f", "eyJhbGciOiJFQ0RILUVTIn0", "\u{0}....", "eyJ9..AAAA.AA.AA"])
  func `Garbage is malformed`(compact: String) {
    #expect(openingCode(compact) == .malformed)
  }
}
