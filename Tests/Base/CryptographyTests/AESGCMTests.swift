import CountersignEncoding
import Testing

@testable import CountersignCryptography

@Suite struct AESGCMTests {
  struct Vector: Sendable {
    let key: [UInt8]
    let iv: [UInt8]
    let plaintext: [UInt8]
    let authenticated: [UInt8]
    let ciphertext: [UInt8]
    let tag: [UInt8]
  }

  static let vectors = [
    // McGrew and Viega, "The Galois/Counter Mode of Operation", appendix B, test cases 13, 14 and 16.
    Vector(
      key: Array(repeating: 0, count: 32), iv: Array(repeating: 0, count: 12), plaintext: [], authenticated: [],
      ciphertext: [], tag: hex("530f8afbc74536b9a963b4f1c4cb738b")),
    Vector(
      key: Array(repeating: 0, count: 32), iv: Array(repeating: 0, count: 12),
      plaintext: Array(repeating: 0, count: 16), authenticated: [],
      ciphertext: hex("cea7403d4d606b6e074ec5d3baf39d18"), tag: hex("d0d1c8a799996bf0265b98b5d48ab919")),
    Vector(
      key: hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"), iv: hex("cafebabefacedbaddecaf888"),
      plaintext: hex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
          + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"),
      authenticated: hex("feedfacedeadbeeffeedfacedeadbeefabaddad2"),
      ciphertext: hex(
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
          + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"),
      tag: hex("76fc6ece0f4e1768cddf8853bb2d551b")),
    // RFC 7516, appendix A.1: the content encryption of its example.
    Vector(
      key: [
        177, 161, 244, 128, 84, 143, 225, 115, 63, 180, 3, 255, 107, 154, 212, 246, 138, 7, 110, 91, 112, 46, 34, 105,
        47,
        130, 203, 46, 122, 234, 64, 252,
      ],
      iv: [227, 197, 117, 252, 2, 219, 233, 68, 180, 225, 77, 219],
      plaintext: ascii("The true sign of intelligence is not knowledge but imagination."),
      authenticated: ascii("eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ"),
      ciphertext: Base64URL.decode(
        "5eym8TW_c8SuK0ltJ3rpYIzOeDQz7TALvtu6UG9oMo4vpzs9tX_EFShS8iB7j6jiSdiwkIr3ajwQzaBtQD_A") ?? [],
      tag: Base64URL.decode("XFBoMYUZodetZdvTiFvSkQ") ?? []),
  ]

  @Test(arguments: vectors)
  func `Matches the published vectors`(vector: Vector) throws {
    let key = try SymmetricKey(id: "k", bytes: vector.key)
    let sealed = try AESGCM.seal(vector.plaintext, key: key, iv: vector.iv, authenticating: vector.authenticated)
    #expect(sealed.ciphertext == vector.ciphertext)
    #expect(sealed.tag == vector.tag)
    let opened = try AESGCM.open(
      vector.ciphertext, tag: vector.tag, key: key, iv: vector.iv, authenticating: vector.authenticated)
    #expect(opened == vector.plaintext)
  }

  @Test func `A failure leaves nothing in open SS ls queue`() throws {
    let key = try SymmetricKey(id: "k", bytes: Array(1...32))
    let iv = [UInt8](repeating: 1, count: 12)
    #expect(
      code { () throws(JOSEError) in
        try AESGCM.open([1], tag: [UInt8](repeating: 0, count: 16), key: key, iv: iv, authenticating: [])
      } == .authenticationFailed)
    #expect(OpenSSL.drainErrors() == nil)
  }
}
