import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Testing

@Suite struct SealerTests {
  static let context = SealContext(messageType: SMSDispatchJob.type, messageID: "v.sms.1", recipient: "+14155550123")

  private func key(_ id: String, _ byte: UInt8) throws -> SymmetricKey {
    try SymmetricKey(id: id, bytes: Array(repeating: byte, count: 32))
  }

  private func sealer() throws -> Sealer {
    Sealer(keys: try KeyRing(sealing: key("a", 1)))
  }

  @Test func `Opens what it sealed`() throws {
    let field = try sealer().seal(Secret("123456"), for: Self.context)
    #expect(field.isSealed)
    #expect(try sealer().open(field, for: Self.context).reveal() == "123456")
  }

  @Test func `A sealed field crosses JSON`() throws {
    let field = try sealer().seal(Secret("123456"), for: Self.context)
    let job = SMSDispatchJob(
      to: "+14155550123", content: .template(name: "verification", languageCode: nil, variables: .init(code: field)),
      deadline: UnixTime(seconds: 100))
    let json = try job.json()
    #expect(!String(decoding: json, as: UTF8.self).contains("123456"))
    guard case .template(_, _, let variables) = try SMSDispatchJob(json: json).content else {
      return #expect(Bool(false), "no template")
    }
    #expect(variables.code == field)
  }

  @Test func `Plain text is refused where sealing is required`() throws {
    var keys = try KeyRing(sealing: key("a", 1))
    keys.requiresSealing = true
    let field = SecretField(Secret("123456"))
    #expect(throws: SealError.notSealed) { try Sealer(keys: keys).open(field, for: Self.context) }
    #expect(
      try Sealer(keys: keys).open(sealer().seal(Secret("1"), for: Self.context), for: Self.context).reveal() == "1")
  }

  @Test func `Plain text passes through`() throws {
    let field = SecretField(Secret("123456"))
    #expect(!field.isSealed)
    #expect(try sealer().open(field, for: Self.context).reveal() == "123456")
  }

  @Test(
    arguments: [
      (
        SealContext(messageType: MessageType("mail.relay"), messageID: "v.sms.1", recipient: "+14155550123"),
        "messageType"
      ),
      (SealContext(messageType: SMSDispatchJob.type, messageID: "other", recipient: "+14155550123"), "messageID"),
      (SealContext(messageType: SMSDispatchJob.type, messageID: "v.sms.1", recipient: "+14155550199"), "recipient"),
    ])
  func `A field that was moved is refused`(context: SealContext, differs: String) throws {
    let field = try sealer().seal(Secret("123456"), for: Self.context)
    #expect(throws: SealError.moved(differs)) { try sealer().open(field, for: context) }
  }

  private func job(_ change: (inout SMSDispatchJob.Variables) -> Void = { _ in }, template: String = "verification")
    -> SMSDispatchJob
  {
    var variables = SMSDispatchJob.Variables(appName: "Größe \"1\"", domain: "example.com")
    change(&variables)
    return SMSDispatchJob(
      to: "+14155550123", content: .template(name: template, languageCode: "de", variables: variables),
      deadline: UnixTime(seconds: 100))
  }

  @Test func `Audience of the code is bound`() throws {
    let field = try sealer().seal(Secret("123456"), for: job().sealContext(messageID: "v.sms.1"))
    #expect(try sealer().open(field, for: job().sealContext(messageID: "v.sms.1")).reveal() == "123456")
    for (changed, name) in [
      (job { $0.domain = "evil.example" }, "domain"), (job { $0.domain = nil }, "domain"),
      (job { $0.appName = "Bank" }, "appName"), (job { $0.androidHash = "FA+9qCX9VSu" }, "androidHash"),
      (job(template: "other"), "template"), (job { $0.custom = ["plan": "Gold"] }, "custom.plan"),
    ] {
      #expect(throws: SealError.moved(name)) {
        try sealer().open(field, for: changed.sealContext(messageID: "v.sms.1"))
      }
    }
  }

  @Test func `Custom variables beside a code are bound: none can be added, changed or taken away`() throws {
    let job = job { $0.custom = ["plan": "Gold"] }
    let field = try sealer().seal(Secret("123456"), for: job.sealContext(messageID: "v.sms.1"))
    #expect(try sealer().open(field, for: job.sealContext(messageID: "v.sms.1")).reveal() == "123456")
    for (custom, name) in [
      (["plan": "Evil"], "custom.plan"), (["plan": "Gold", "note": "x"], "custom.note"), (nil, "bound"),
    ] as [([String: String]?, String)] {
      let changed = self.job { $0.custom = custom }
      #expect(throws: SealError.moved(name)) {
        try sealer().open(field, for: changed.sealContext(messageID: "v.sms.1"))
      }
    }
    // A seal without fields does not vouch for them.
    let bare = try sealer().seal(Secret("123456"), for: Self.context)
    #expect(throws: SealError.moved("custom.plan")) {
      try sealer().open(bare, for: job.sealContext(messageID: "v.sms.1"))
    }
  }

  @Test func `A seal that binds no fields opens as before`() throws {
    let field = try sealer().seal(Secret("123456"), for: Self.context)
    #expect(try sealer().open(field, for: job().sealContext(messageID: "v.sms.1")).reveal() == "123456")
  }

  @Test func `A seal that binds what is not known here is refused`() throws {
    let fields = [SealContext.Field("domain", "example.com"), SealContext.Field("color", nil)]
    let context = SealContext(
      messageType: SMSDispatchJob.type, messageID: "v.sms.1", recipient: "+14155550123", fields: fields)
    let field = try sealer().seal(Secret("123456"), for: context)
    #expect(throws: SealError.moved("bound")) {
      try sealer().open(field, for: job().sealContext(messageID: "v.sms.1"))
    }
    #expect(throws: SealError.moved("bound")) { try sealer().open(field, for: Self.context) }
  }

  @Test func `A field without context is refused`() throws {
    let compact = try JWE.seal(Array("123456".utf8), with: key("a", 1), header: [:])
    let body = try CheckVerification(json: Array(#"{"verificationID":"v","code":"\#(compact)"}"#.utf8))
    #expect(throws: SealError.moved("messageID")) { try sealer().open(body.code, for: Self.context) }
  }

  @Test func `An unknown key is named`() throws {
    let other = Sealer(keys: try KeyRing(sealing: key("b", 2)))
    let field = try other.seal(Secret("123456"), for: Self.context)
    #expect(throws: SealError.unknownKey("b")) { try sealer().open(field, for: Self.context) }
    #expect(SealError.unknownKey("b").description.contains("\"b\""))
  }

  @Test func `A forged field is refused`() throws {
    let other = Sealer(keys: try KeyRing(sealing: key("a", 2)))
    let field = try other.seal(Secret("123456"), for: Self.context)
    #expect(throws: SealError.broken) { try sealer().open(field, for: Self.context) }
  }

  @Test func `Former keys still open after a rotation`() throws {
    let field = try sealer().seal(Secret("123456"), for: Self.context)
    let rotated = Sealer(keys: try KeyRing(sealing: key("b", 2), others: [key("a", 1)]))
    #expect(try rotated.open(field, for: Self.context).reveal() == "123456")
  }

  @Test func `Without a key nothing is sealed`() throws {
    let empty = Sealer(keys: try KeyRing(sealing: nil))
    #expect(throws: SealError.noSealingKey) { try empty.seal(Secret("123456"), for: Self.context) }
  }
}
