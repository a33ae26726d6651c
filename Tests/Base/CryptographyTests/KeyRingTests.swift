import CountersignCryptography
import CountersignEncoding
import Testing

@Suite struct KeyRingTests {
  static let k = Base64URL.encode(Array(0..<32))

  func ring(_ json: String) throws(JOSEError) -> KeyRing { try KeyRing(jwkSet: ascii(json)) }

  @Test func `The first seals all open`() throws {
    let ring = try ring(
      """
      {"keys": [
        {"kty": "oct", "kid": "new", "alg": "A256GCM", "use": "enc", "key_ops": ["encrypt", "decrypt"], "k": "\(Self.k)", "created": 5},
        {"kty": "oct", "kid": "old", "k": "\(Self.k)"}
      ]}
      """)
    #expect(ring.sealing?.id == "new")
    #expect(ring.opening.keys.sorted() == ["new", "old"])
    #expect(ring.sealing?.withUnsafeBytes { Array($0) } == Array(0..<32))
  }

  @Test(
    arguments: [
      ("", "it is not JSON"), (String(repeating: "[", count: 513), "it is not JSON"), ("[]", "form"),
      ("{}", "keys is missing"),
      ("{\"keys\": [{\"kid\": \"a\"}]}", "keys[0].kty is missing"),
      ("{\"keys\": [{\"kty\": \"oct\", \"k\": 5}]}", "keys[0].k is of the wrong type"), ("{\"keys\": []}", "0 keys"),
      ("{\"keys\": [{\"kty\": \"oct\", \"k\": \"AA\"}]}", "key 1 of the JWK set has no kid"),
      ("{\"keys\": [{\"kty\": \"EC\", \"kid\": \"a\"}]}", "key \"a\" of the JWK set has kty \"EC\""),
      ("{\"keys\": [{\"kty\": \"oct\", \"kid\": \"a\", \"k\": \"AA\"}]}", "key \"a\" has 1 bytes"),
      ("{\"keys\": [{\"kty\": \"oct\", \"kid\": \"a\", \"k\": \"*\"}]}", "no k in base64url"),
      ("{\"keys\": [{\"kty\": \"oct\", \"kid\": \"a\"}]}", "no k in base64url"),
      ("{\"keys\": [{\"kty\": \"oct\", \"kid\": \"a\", \"alg\": \"A128GCM\", \"k\": \"\(k)\"}]}", "alg \"A128GCM\""),
      ("{\"keys\": [{\"kty\": \"oct\", \"kid\": \"a\", \"use\": \"sig\", \"k\": \"\(k)\"}]}", "not for encryption"),
      (
        "{\"keys\": [{\"kty\": \"oct\", \"kid\": \"a\", \"key_ops\": [\"sign\"], \"k\": \"\(k)\"}]}",
        "not for encryption: its key_ops"
      ),
      ("{\"keys\": [{\"kty\": \"oct\", \"kid\": \"\", \"k\": \"\(k)\"}]}", "1 to 128"),
      ("{\"keys\": [{\"kty\": \"oct\", \"kid\": \"a b\", \"k\": \"\(k)\"}]}", "1 to 128"),
      (
        "{\"keys\": [{\"kty\": \"oct\", \"kid\": \"a\", \"k\": \"\(k)\"}, {\"kty\": \"oct\", \"kid\": \"a\", \"k\": \"\(k)\"}]}",
        "two keys have the kid \"a\""
      ),
    ])
  func `A bad set is told without the key`(json: String, text: String) {
    let error = #expect(throws: JOSEError.self) { try ring(json) }
    let said = error?.description ?? ""
    #expect(error?.code == .badKey)
    #expect(said.contains(text) && !said.contains(Self.k), "\(said)")
  }

  @Test func `A set that is too large is refused`() {
    let json = "{\"keys\": [], \"x\": \"" + String(repeating: "x", count: KeyRing.maxSetBytes) + "\"}"
    #expect(code { () throws(JOSEError) in try ring(json) } == .badKey)
  }

  @Test func `Keys are never printed`() throws {
    let ring = try ring("{\"keys\": [{\"kty\": \"oct\", \"kid\": \"a\", \"k\": \"\(Self.k)\"}]}")
    let key = try #require(ring.sealing)
    var dumped = ""
    dump(ring, to: &dumped)
    for text in ["\(key)", String(reflecting: key), "\(ring)", String(reflecting: ring), dumped] {
      #expect(text.contains("a"))
      #expect(!text.contains("storage"), "\(text)")
      #expect(!text.contains("pointer"), "\(text)")
    }
  }

  @Test func `Generates a key that can be used`() throws {
    let one = try KeyRing.generate(kid: "2026-11-21")
    let other = try KeyRing.generate(kid: "2026-11-21")
    #expect(one != other)
    let ring = try ring("{\"keys\": [\(one)]}")
    #expect(ring.sealing?.id == "2026-11-21")
    #expect(code { () throws(JOSEError) in try KeyRing.generate(kid: "not good") } == .badKey)
  }

  @Test func `Rotation puts the new key first`() throws {
    let first = try KeyRing.rotate(jwkSet: nil, kid: "one")
    let second = try KeyRing.rotate(jwkSet: ascii(first), kid: "two")
    let (old, new) = (try ring(first), try ring(second))
    #expect(old.sealing?.id == "one")
    #expect(new.sealing?.id == "two")
    let sealed = try JWE.seal([1, 2, 3], with: try #require(old.sealing))
    #expect(try JWE.open(sealed, with: new).plaintext == [1, 2, 3])
    #expect(code { () throws(JOSEError) in try KeyRing.rotate(jwkSet: ascii(second), kid: "one") } == .badKey)
    #expect(code { () throws(JOSEError) in try KeyRing.rotate(jwkSet: [1], kid: "three") } == .badKey)
  }
}
