import CountersignTelemetry
import PasswordHashing
import Testing

@Suite struct PasswordHashTests {
  @Test(arguments: ["correct horse", "", "a\0b", "pässword✓", String(repeating: "x", count: 4_096)])
  func `A hash matches its password and no other`(password: String) throws {
    let hash = try PasswordHash.make(Secret(password))
    #expect(try hash.matches(Secret(password)))
    #expect(try !hash.matches(Secret(password.dropLast() + "?")))
    #expect(hash.isCurrent)
    #expect(PasswordHash(stored: hash.stored) == hash)
    #expect(hash.exported.algorithm == "ARGON2")
    #expect(hash.exported.hash.count == 32)
    #expect(hash.exported.salt.count == 16)
  }

  @Test func `Two hashes of one password have nothing in common`() throws {
    let hashes = try [PasswordHash.make(Secret("same")), PasswordHash.make(Secret("same"))]
    #expect(hashes[0].exported.salt != hashes[1].exported.salt)
    #expect(hashes[0].exported.hash != hashes[1].exported.hash)
  }

  @Test func `A password beyond the bound is refused, and has no hash`() throws {
    let long = Secret(String(repeating: "x", count: 4_097))
    #expect(throws: PasswordHashingError.invalid(field: "password", rule: "is longer than 4096 bytes")) {
      try PasswordHash.make(long)
    }
    #expect(try !PasswordHash.ofNobody.matches(long))
  }

  @Test func `Nobody's hash has today's parameters and no password`() throws {
    #expect(PasswordHash.ofNobody.isCurrent)
    #expect(try !PasswordHash.ofNobody.matches(Secret("")))
    #expect(PasswordHash.ofNobody == .ofNobody)
  }

  @Test func `A hash with other parameters is not current`() throws {
    let other = ImportAlgorithm.Fields.argon2("ARGON2_ID", nil, length: 32, memory: 19_456, passes: 3)
    #expect(
      try !ImportAlgorithm(other).hash([UInt8](repeating: 1, count: 32), salt: Array("0123456789abcdef".utf8)).isCurrent
    )
    let same = ImportAlgorithm.Fields.argon2("ARGON2_ID", nil, length: 32, memory: 19_456, passes: 2)
    #expect(
      try ImportAlgorithm(same).hash([UInt8](repeating: 1, count: 32), salt: Array("0123456789abcdef".utf8)).isCurrent)
  }

  @Test(
    arguments: [
      "", ":", ":::", "ARGON2:::", "NOTHING:::", "MD5:r=1:", "MD5:r=1,r=2::XDezug3FJhtwM5g5zdW2rg",
      "MD5:r=x,:=::XDezug3FJhtwM5g5zdW2rg", "MD5:r=9000::XDezug3FJhtwM5g5zdW2rg", "MD5:r=1::XDez", "MD5:r=1:?:XDez",
      "MD5:r=1::XDezug3FJhtwM5g5zdW2rg:", "SCRYPT:k=AAAA,r=8,m=63::AAAA", String(repeating: "A", count: 3_000),
    ])
  func `A text that is not a hash's is nothing`(text: String) {
    #expect(PasswordHash(stored: text) == nil)
  }
}
