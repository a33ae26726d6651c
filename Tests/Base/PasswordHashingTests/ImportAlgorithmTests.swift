import CountersignEncoding
import CountersignTelemetry
import PasswordHashing
import Testing

@Suite struct ImportAlgorithmTests {
  @Test(arguments: ImportVectors.all)
  func `A hash of another system matches its password and no other`(vector: ImportVector) throws {
    let hash = try vector.made()
    #expect(try hash.matches(vector.secret()))
    #expect(try !hash.matches(Secret("correct horsf")))
    #expect(try !hash.matches(Secret("a\0c")))
    #expect(!hash.isCurrent)
  }

  @Test(arguments: ImportVectors.all)
  func `A hash comes back from its text`(vector: ImportVector) throws {
    let hash = try vector.made()
    #expect(hash.stored.utf8.count <= PasswordHash.longest)
    #expect(PasswordHash(stored: hash.stored) == hash)
  }

  @Test(arguments: ImportVectors.all)
  func `A decoy is the same for hashes that cost the same, and has nothing of them`(vector: ImportVector) throws {
    let hash = try vector.made()
    let decoy = hash.decoy
    #expect(PasswordHash(stored: decoy.stored) == decoy && decoy.decoy == decoy)
    #expect(try !decoy.matches(vector.secret()))
    func changed(_ text: String?) -> String? {
      text.flatMap { AnyBase64.decode($0) }.map { bytes in Base64.encode(bytes.map { $0 ^ 1 }) }
    }
    var fields = vector.fields
    (fields.signerKey, fields.saltSeparator) = (changed(fields.signerKey), changed(fields.saltSeparator))
    fields.argon2Parameters?.associatedData = changed(vector.fields.argon2Parameters?.associatedData)
    let (algorithm, made, salt) = hash.exported
    // The last character of bcrypt's text is of the hash alone.
    let others = algorithm == "BCRYPT" ? Array(made.dropLast()) + [UInt8(ascii: "u")] : made.map { $0 ^ 1 }
    let other = try ImportAlgorithm(fields).hash(others, salt: salt.map { $0 ^ 1 })
    #expect(other != hash && other.decoy == decoy)
  }

  @Test func `Decoys of different costs differ`() throws {
    let digest = [UInt8](repeating: 1, count: 32)
    let pbkdf2 = try [1, 2].map { rounds throws in
      try ImportAlgorithm(.rounds("PBKDF2_SHA256", rounds)).hash(digest, salt: []).decoy
    }
    let bcrypt = try ["04", "05"].map { cost throws in
      try ImportAlgorithm(.bcrypt).hash(Array("$2y$\(cost)$\(String(repeating: "a", count: 53))".utf8), salt: []).decoy
    }
    #expect(Set(pbkdf2 + bcrypt).count == 4)
    #expect(bcrypt.allSatisfy { $0.exported.hash.starts(with: "$2b$0".utf8) })
  }

  @Test func `Firebase's public example`() throws {
    let key = "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="
    let text = "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=="
    let algorithm = try ImportAlgorithm(.firebase(key: key, separator: "Bw==", rounds: 8, memoryCost: 14))
    let hash = try algorithm.hash(#require(Base64.decode(text)), salt: #require(Base64.decode("42xEC+ixf3L2lw==")))
    #expect(try hash.matches(Secret("user1password")))
    #expect(try !hash.matches(Secret("user2password")))
    #expect(hash.exported.algorithm == "SCRYPT")
    #expect(Base64.encode(hash.exported.hash) == text)
    #expect(Base64.encode(hash.exported.salt) == "42xEC+ixf3L2lw==")
  }

  @Test func `The example of RFC 7914, named as the command line of Firebase names it`() throws {
    var fields = ImportAlgorithm.Fields.scrypt(0, 8, 16, 64)
    (fields.memoryCost, fields.cpuMemCost) = (nil, 1_024)
    let hash = try #require(
      Base64.decode("/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWIurzDZLiKjiG/xCSedmDDaxyevuUqD7m2DYMvfoswGQA=="))
    #expect(try ImportAlgorithm(fields).hash(hash, salt: Array("NaCl".utf8)).matches(Secret("password")))
  }

  @Test func `Salt goes first where no order is said`() throws {
    let vector = try #require(ImportVectors.all.first { $0.fields.passwordHashOrder == "SALT_AND_PASSWORD" })
    var fields = vector.fields
    fields.passwordHashOrder = nil
    let hash = try #require(AnyBase64.decode(vector.hash))
    let salt = try #require(ImportVectors.salts[vector.salt])
    #expect(try ImportAlgorithm(fields).hash(hash, salt: salt).matches(vector.secret()))
  }

  @Test func `Bytes are base64 in either alphabet, with padding or without`() throws {
    let keys = ["+/+/+/8=", "-_-_-_8", "+/+/+/8", "-_-_-_8="]
    let algorithms = try keys.map { key throws in
      try ImportAlgorithm(.firebase(key: key, rounds: 8, memoryCost: 14))
    }
    #expect(Set(algorithms).count == 1)
  }

  @Test func `A bcrypt hash counts the first 72 bytes of a password and refuses a zero byte`() throws {
    let vector = try #require(ImportVectors.all.last { $0.fields.hashAlgorithm == "BCRYPT" })
    let hash = try vector.made()
    #expect(try hash.matches(Secret(String(repeating: "x", count: 72))))
    #expect(try !hash.matches(Secret(String(repeating: "x", count: 71))))
    #expect(try !hash.matches(Secret(String(repeating: "x", count: 72) + "\0")))
    #expect(hash.exported.salt.isEmpty)
  }

  @Test func `Neither a hash nor its parameters print themselves`() throws {
    let fields = ImportAlgorithm.Fields.firebase(key: "c2VjcmV0LXNlY3JldA==", rounds: 8, memoryCost: 14)
    let algorithm = try ImportAlgorithm(fields)
    let hash = try algorithm.hash(Array("0123456789abc".utf8), salt: [])
    var dumped = ""
    dump(fields, to: &dumped)
    dump(algorithm, to: &dumped)
    dump(hash, to: &dumped)
    for text in ["\(fields)", "\(algorithm)", "\(hash)", String(reflecting: fields), String(reflecting: hash), dumped] {
      #expect(!text.contains("c2VjcmV0"))
      #expect(!text.contains("0123"))
    }
  }
}
