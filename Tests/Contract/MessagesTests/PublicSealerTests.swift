import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Testing

@Suite struct PublicSealerTests {
  private let keys: PrivateSealingKeys
  private let sealer: PublicSealer
  private static let context = SealContext(
    messageType: SignInWithPhone.type, messageID: "m1", recipient: AccountCommandFields.recipient)

  init() throws {
    let key = try PrivateSealingKey.generate(id: "accounts-1")
    keys = try PrivateSealingKeys([key])
    sealer = PublicSealer(key: key.publicKey)
  }

  @Test(arguments: ["482913", "", "grüße 🔐"])
  func `Accounts open what was sealed to their public key`(secret: String) throws {
    let field = try sealer.seal(Secret(secret), for: Self.context)
    #expect(field.isSealed)
    #expect(try field.open(with: keys, for: Self.context).reveal() == secret)
  }

  @Test func `A sealed field crosses JSON`() throws {
    var command = SignInWithPhone(project: "example", replyKey: "{}")
    command.code = try sealer.seal(Secret("482913"), for: Self.context)
    let json = try command.json()
    #expect(!String(decoding: json, as: UTF8.self).contains("482913"))
    let read = try #require(SignInWithPhone(json: json).code)
    #expect(try read.open(with: keys, for: Self.context).reveal() == "482913")
  }

  @Test func `A reply's secrets are for the requester alone`() throws {
    let own = try PrivateSealingKey.generate(id: "reply")
    // The part that a command carries.
    let replyKey = try PublicSealingKey(jwk: Array(own.publicKey.jwk.utf8))
    let context = SealContext(
      messageType: AccountSignedIn.type, messageID: "m1", recipient: AccountCommandFields.replyRecipient)
    let field = try PublicSealer(key: replyKey).seal(Secret("token"), for: context)
    #expect(try field.open(with: own, for: context).reveal() == "token")
    #expect(throws: SealError.unknownKey("reply")) { try field.open(with: keys, for: context) }
    #expect(throws: SealError.moved("messageID")) {
      try field.open(
        with: own,
        for: SealContext(
          messageType: AccountSignedIn.type, messageID: "m2", recipient: AccountCommandFields.replyRecipient))
    }
  }

  @Test(
    arguments: [
      (SealContext(messageType: UpdateAccount.type, messageID: "m1", recipient: "accounts"), "messageType"),
      (SealContext(messageType: SignInWithPhone.type, messageID: "m2", recipient: "accounts"), "messageID"),
      (SealContext(messageType: SignInWithPhone.type, messageID: "m1", recipient: "requester"), "recipient"),
    ])
  func `A field that was moved is refused`(context: SealContext, differs: String) throws {
    let field = try sealer.seal(Secret("482913"), for: Self.context)
    #expect(throws: SealError.moved(differs)) { try field.open(with: keys, for: context) }
  }

  @Test func `A seal is bound to the key for the reply`() throws {
    func context(_ replyKey: String?) -> SealContext {
      AccountCommandFields.context(of: SignInWithPhone.type, messageID: "m1", replyKey: replyKey)
    }
    let field = try sealer.seal(Secret("482913"), for: context("own"))
    #expect(try field.open(with: keys, for: context("own")).reveal() == "482913")
    for other in ["another's", nil] {
      #expect(throws: SealError.moved("replyKey")) { try field.open(with: keys, for: context(other)) }
    }
    let without = try sealer.seal(Secret("482913"), for: context(nil))
    #expect(try without.open(with: keys, for: context(nil)).reveal() == "482913")
    #expect(throws: SealError.moved("replyKey")) { try without.open(with: keys, for: context("another's")) }
  }

  @Test func `A field in the clear is refused`() {
    for text in ["482913", "", "eyJhbGciOiJSUzI1NiJ9.e30.c2ln"] {
      let field = SecretField(Secret(text))
      #expect(throws: SealError.notSealed) { try field.open(with: keys, for: Self.context) }
    }
  }

  @Test func `A field that is sealed with a shared key is refused, and the reverse`() throws {
    let ring = try KeyRing(sealing: SymmetricKey(id: "accounts-1", bytes: Array(repeating: 1, count: 32)))
    let shared = try Sealer(keys: ring).seal(Secret("482913"), for: Self.context)
    #expect(throws: SealError.broken) { try shared.open(with: keys, for: Self.context) }
    let toKey = try sealer.seal(Secret("482913"), for: Self.context)
    #expect(throws: SealError.broken) { try toKey.open(with: ring, for: Self.context) }
  }

  @Test func `Another key is told from a forged field`() throws {
    let other = try PrivateSealingKey.generate(id: "accounts-0")
    let field = try PublicSealer(key: other.publicKey).seal(Secret("482913"), for: Self.context)
    #expect(throws: SealError.unknownKey("accounts-0")) { try field.open(with: keys, for: Self.context) }
    let namesake = try PrivateSealingKey.generate(id: "accounts-1")
    let forged = try PublicSealer(key: namesake.publicKey).seal(Secret("482913"), for: Self.context)
    #expect(throws: SealError.broken) { try forged.open(with: keys, for: Self.context) }
  }

  @Test func `Former keys still open after a rotation`() throws {
    let field = try sealer.seal(Secret("482913"), for: Self.context)
    let rotated = try PrivateSealingKeys.rotate(keys, id: "accounts-2")
    #expect(try field.open(with: rotated, for: Self.context).reveal() == "482913")
  }

  @Test func `A secret that no message has room for is not sealed`() {
    let secret = Secret(String(repeating: "x", count: JWE.maxPlaintextBytes + 1))
    #expect(throws: SealError.broken) { try sealer.seal(secret, for: Self.context) }
  }
}
