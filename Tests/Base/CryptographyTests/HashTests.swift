import CountersignCryptography
import Testing

@Suite struct HashTests {
  /// FIPS 180-4's examples.
  @Test(
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
    ])
  func `Sha256 matches the published vectors`(message: String, digest: String) {
    #expect(SHA256.hash(ascii(message)) == hex(digest))
  }

  struct Vector: Sendable {
    let key: [UInt8]
    let message: [UInt8]
    let code: String
  }

  /// RFC 4231, section 4, test cases 1 to 4, 6 and 7.
  static let vectors = [
    Vector(
      key: Array(repeating: 0x0b, count: 20), message: ascii("Hi There"),
      code: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    Vector(
      key: ascii("Jefe"), message: ascii("what do ya want for nothing?"),
      code: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
    Vector(
      key: Array(repeating: 0xaa, count: 20), message: Array(repeating: 0xdd, count: 50),
      code: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
    Vector(
      key: Array(1...25), message: Array(repeating: 0xcd, count: 50),
      code: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
    Vector(
      key: Array(repeating: 0xaa, count: 131), message: ascii("Test Using Larger Than Block-Size Key - Hash Key First"),
      code: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
    Vector(
      key: Array(repeating: 0xaa, count: 131),
      message: ascii(
        "This is a test using a larger than block-size key and a larger than block-size data. "
          + "The key needs to be hashed before being used by the HMAC algorithm."),
      code: "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"),
  ]

  @Test(arguments: vectors)
  func `HMAC matches the published vectors`(vector: Vector) {
    #expect(HMACSHA256.authenticate(vector.message, key: vector.key) == hex(vector.code))
  }

  /// Every message begins anew, whatever came before.
  @Test(arguments: vectors)
  func `HMAC with a kept key`(vector: Vector) {
    let key = HMACSHA256Key(vector.key)
    for message in [vector.message, [], vector.message, [1], vector.message] {
      #expect(key.authenticate(message) == HMACSHA256.authenticate(message, key: vector.key))
    }
    #expect("\(key)" == "<redacted>")
  }

  @Test func `Kept key of nothing`() {
    #expect(HMACSHA256Key([]).authenticate([1]) == HMACSHA256.authenticate([1], key: []))
  }

  @Test func `Threads share a kept key`() async {
    let key = HMACSHA256Key([2])
    let wrong = await withTaskGroup(of: Int.self) { group in
      for thread in UInt8(0)..<8 {
        group.addTask {
          let expected = HMACSHA256.authenticate([thread], key: [2])
          return (0..<2000).reduce(0) { wrong, _ in wrong + (key.authenticate([thread]) == expected ? 0 : 1) }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(wrong == 0)
  }

  /// An empty key is a key of zeros (RFC 2104, section 2), not the one that was used before.
  @Test func `HMAC of an empty message matches`() {
    let expected = hex("b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    #expect(HMACSHA256.authenticate([], key: [9, 9, 9]) != expected)
    #expect(HMACSHA256.authenticate([], key: []) == expected)
  }

  @Test func `HMAC with a key of a ring`() throws {
    let key = try SymmetricKey(id: "k", bytes: Array(1...32))
    #expect(HMACSHA256.authenticate([1, 2], key: key) == HMACSHA256.authenticate([1, 2], key: Array(1...32)))
  }

  @Test func `Constant time comparison tells equal from unequal`() {
    #expect(constantTimeEquals([], []))
    #expect(constantTimeEquals([1, 2, 3], [1, 2, 3]))
    #expect(!constantTimeEquals([1, 2, 3], [1, 2, 4]))
    #expect(!constantTimeEquals([1, 2, 3], [1, 2]))
  }

  /// The same from many threads at once: they share the fetched algorithms and copy one template.
  @Test func `Threads share the algorithms`() async {
    let expected = HMACSHA256.authenticate([1], key: [2])
    let wrong = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask {
          (0..<2000).reduce(0) { wrong, _ in wrong + (HMACSHA256.authenticate([1], key: [2]) == expected ? 0 : 1) }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(wrong == 0)
  }
}
