import CountersignEncoding
import FoundationEssentials
import PasswordHashing
import Testing

@Suite struct ImportBoundsTests {
  private static let key = Base64.encode(Array("signer key".utf8))

  private static func keyed(_ edit: (inout ImportAlgorithm.Fields) -> Void) -> ImportAlgorithm.Fields {
    var fields = ImportAlgorithm.Fields.keyed("HMAC_SHA256", "SALT_AND_PASSWORD")
    edit(&fields)
    return fields
  }

  private static let refused: [(ImportAlgorithm.Fields, String)] = [
    (.init("CRC32"), "hashAlgorithm"), (.init(""), "hashAlgorithm"),
    (keyed { $0.signerKey = nil }, "signerKey"), (keyed { $0.signerKey = "?" }, "signerKey"),
    (keyed { $0.signerKey = String(repeating: "A", count: 4_000) }, "signerKey"),
    (keyed { $0.passwordHashOrder = "RANDOM" }, "passwordHashOrder"),
    (.rounds("MD5", -1), "rounds"), (.rounds("MD5", 8_193), "rounds"), (.rounds("SHA1", 0), "rounds"),
    (.init("SHA256"), "rounds"), (.rounds("SHA512", .max), "rounds"),
    (.init("PBKDF_SHA1"), "rounds"), (.rounds("PBKDF2_SHA256", 0), "rounds"),
    (.rounds("PBKDF2_SHA256", 120_001), "rounds"),
    (.firebase(key: key, rounds: 9, memoryCost: 14), "rounds"),
    (.firebase(key: key, rounds: 0, memoryCost: 14), "rounds"),
    (.firebase(key: key, rounds: 8, memoryCost: 15), "memoryCost"),
    (.firebase(key: key, rounds: 8, memoryCost: .min), "memoryCost"),
    (.firebase(key: "", rounds: 8, memoryCost: 14), "signerKey"),
    (.firebase(key: key, separator: "=", rounds: 8, memoryCost: 14), "saltSeparator"),
    (.scrypt(1_000, 8, 1, 64), "memoryCost"), (.scrypt(1 << 17, 8, 1, 64), "memoryCost"),
    (.scrypt(.max, .max, .max, 64), "memoryCost"), (.scrypt(1_024, 1_024, 1_024, 64), "memoryCost"),
    (.scrypt(1_024, .max, 1, 64), "blockSize"), (.scrypt(1_024, 8, 0, 64), "parallelization"),
    (.scrypt(1_024, 8, 1, 0), "dkLen"), (.scrypt(1_024, 8, 1, .max), "dkLen"), (.scrypt(0, 8, 1, 64), "memoryCost"),
    (.init("ARGON2"), "argon2Parameters.hashType"), (.argon2("ARGON2_X", nil), "argon2Parameters.hashType"),
    (.argon2("ARGON2_D", "VERSION_20"), "argon2Parameters.version"),
    (.argon2("ARGON2_D", nil, lanes: 17), "argon2Parameters.parallelism"),
    (.argon2("ARGON2_D", nil, lanes: .min), "argon2Parameters.parallelism"),
    (.argon2("ARGON2_D", nil, lanes: 16), "argon2Parameters.memoryCostKib"),
    (.argon2("ARGON2_D", nil, memory: 65_537), "argon2Parameters.memoryCostKib"),
    (.argon2("ARGON2_D", nil, memory: 65_536, passes: 16), "argon2Parameters.memoryCostKib"),
    (.argon2("ARGON2_D", nil, passes: 17), "argon2Parameters.iterations"),
    (.argon2("ARGON2_D", nil, length: 3), "argon2Parameters.hashLengthBytes"),
    (.argon2("ARGON2_D", nil, data: "%"), "argon2Parameters.associatedData"),
  ]

  @Test(arguments: refused)
  func `A parameter out of bounds is refused by its name`(fields: ImportAlgorithm.Fields, field: String) {
    #expect(named(field) { () throws(PasswordHashingError) in _ = try ImportAlgorithm(fields) })
  }

  private static let lengths: [(ImportAlgorithm.Fields, hash: Int, salt: Int, String)] = [
    (.rounds("MD5", 1), 15, 0, "passwordHash"), (.rounds("SHA512", 1), 0, 0, "passwordHash"),
    (.rounds("MD5", 1), 16, 129, "salt"), (keyed { _ in }, 31, 0, "passwordHash"),
    (.rounds("PBKDF_SHA1", 1), 15, 0, "passwordHash"), (.rounds("PBKDF_SHA1", 1), 513, 0, "passwordHash"),
    (.rounds("PBKDF_SHA1", 120_000), 512, 0, "rounds"), (.scrypt(1_024, 8, 1, 64), 63, 0, "passwordHash"),
    (.firebase(key: key, rounds: 8, memoryCost: 14), 11, 0, "passwordHash"),
    (.argon2("ARGON2_D", nil), 23, 8, "passwordHash"), (.argon2("ARGON2_D", nil), 24, 7, "salt"),
    (.bcrypt, 0, 0, "passwordHash"), (.bcrypt, 60, 0, "passwordHash"), (.bcrypt, .init(100_000), 0, "passwordHash"),
    (.argon2("ARGON2_D", nil, length: 1_024, data: String(repeating: "A", count: 168)), 1_024, 128, ""),
  ]

  @Test(arguments: lengths)
  func `Lengths that do not fit are refused by name`(
    fields: ImportAlgorithm.Fields, hash: Int, salt: Int, field: String
  ) throws {
    let algorithm = try ImportAlgorithm(fields)
    let (hash, salt) = ([UInt8](repeating: 1, count: hash), [UInt8](repeating: 2, count: salt))
    #expect(named(field) { () throws(PasswordHashingError) in _ = try algorithm.hash(hash, salt: salt) })
  }

  @Test(
    arguments: [
      "$2b$03$kQFFB8kPFrORGyiC4EzGrOIUq55ci1CvcwK3MR/5Xe0dwRSckSdvm",
      "$2b$14$kQFFB8kPFrORGyiC4EzGrOIUq55ci1CvcwK3MR/5Xe0dwRSckSdvm",
      "$2b$-1$kQFFB8kPFrORGyiC4EzGrOIUq55ci1CvcwK3MR/5Xe0dwRSckSdvm",
      "$2x$10$kQFFB8kPFrORGyiC4EzGrOIUq55ci1CvcwK3MR/5Xe0dwRSckSdvm",
      "$2b$10$kQFFB8kPFrORGyiC4EzGrOIUq55ci1CvcwK3MR/5Xe0dwRSckSdv",
      "$2b$10$kQFFB8kPFrORGyiC4EzGrOIUq55ci1CvcwK3MR/5Xe0dwRSckSdv\0",
      "$6$10$$kQFFB8kPFrORGyiC4EzGrOIUq55ci1CvcwK3MR/5Xe0dwRSckSdvmm",
    ])
  func `A text that is not a bcrypt hash within the cost is refused`(text: String) throws {
    let algorithm = try ImportAlgorithm(ImportAlgorithm.Fields.bcrypt)
    #expect(
      named("passwordHash") { () throws(PasswordHashingError) in _ = try algorithm.hash(Array(text.utf8), salt: []) })
  }

  @Test func `Firebase's members decode to the algorithm, and encode again`() throws {
    let text =
      #"{"hashAlgorithm":"SCRYPT","memoryCost":14,"rounds":8,"saltSeparator":"Bw==","signerKey":"\#(Self.key)"}"#
    let algorithm = try JSONDecoder().decode(ImportAlgorithm.self, from: Data(text.utf8))
    #expect(algorithm.name == "SCRYPT")
    #expect(try JSONDecoder().decode(ImportAlgorithm.self, from: JSONEncoder().encode(algorithm)) == algorithm)
    #expect(throws: PasswordHashingError.self) {
      try JSONDecoder().decode(ImportAlgorithm.self, from: Data(#"{"hashAlgorithm":"SCRYPT"}"#.utf8))
    }
  }

  private func named(_ field: String, _ work: () throws(PasswordHashingError) -> Void) -> Bool {
    do throws(PasswordHashingError) {
      try work()
      return field.isEmpty
    } catch .invalid(let name, _) {
      return name == field
    } catch {
      return false
    }
  }
}
