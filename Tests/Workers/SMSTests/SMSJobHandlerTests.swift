import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import JobEngine
import PhoneNumbers
import Testing

@testable import SMS

@Suite struct SMSJobHandlerTests {
  private let message = JobMessage(messageID: "v.sms.1", messageType: SMSDispatchJob.type, receivedAt: Sample.now)
  private let deadline = Sample.now + .seconds(300)

  private func handler(
    _ routes: [LaneRoute] = [LaneRoute(FakeLane("a")), LaneRoute(FakeLane("b"))], keys: KeyRing? = nil,
    limits: SMSLimits = SMSLimits(), appName: String? = nil,
    recipients: RecipientRules = RecipientRules(regions: RegionRules(allowed: ["*"]))
  ) throws -> SMSJobHandler {
    SMSJobHandler(
      routes: routes, recipients: recipients, templates: try Shipped.templates(),
      keys: try keys ?? KeyRing(sealing: nil), limits: limits,
      appName: appName)
  }

  private func text(
    _ text: String = "Hello", to: String = "+14155550123", lane: String? = nil, onUnknown: OnUnknown? = nil
  )
    -> SMSDispatchJob
  {
    SMSDispatchJob(to: to, content: .text(text), lane: lane, deadline: deadline, onUnknown: onUnknown)
  }

  private func template(_ variables: SMSDispatchJob.Variables, name: String = "verification", language: String? = "de")
    -> SMSDispatchJob
  {
    SMSDispatchJob(
      to: "+14155550123", content: .template(name: name, languageCode: language, variables: variables),
      deadline: deadline)
  }

  private func short(_ preparation: Preparation<OutgoingSMS>) -> String {
    switch preparation {
    case .ready: "ready"
    case .refused(let reason, _): "refused \(reason.code)"
    case .invalid(let problem): "invalid \(problem.code)"
    }
  }

  private func job(_ preparation: Preparation<OutgoingSMS>) throws -> (job: OutgoingSMS, facts: JobFacts) {
    guard case .ready(let job, let facts) = preparation else {
      Issue.record("not ready: \(short(preparation))")
      throw CancellationError()
    }
    return (job, facts)
  }

  @Test func `A text is sent as it is, with its segments and encoding in the result`() throws {
    let job = try job(try handler().prepare(text("Größe: 5€"), of: message))
    #expect(job.job.text.text == "Größe: 5€")
    #expect(job.job.to == "+14155550123")
    #expect(job.facts.lanes == ["a", "b"])
    #expect(job.facts.deadline == deadline)
    #expect(job.facts.onUnknown == .sender(nil))
    #expect(job.facts.extras == ["segments": 1, "encoding": "gsm7"])
    let ucs2 = try self.job(try handler().prepare(text(String(repeating: "あ", count: 71)), of: message))
    #expect(ucs2.facts.extras == ["segments": 2, "encoding": "ucs2"])
  }

  @Test(
    arguments: [
      "", "hello", "14085550199", "+1 415 555 0123", "+0123456789", "+123", "+141555501231234567", "+14155550123\n",
      "+999123456789",
      "+1415555012", "٠١٢٣٤٥٦٧٨٩", "tel:+14155550123", "+1415555O123",
    ])
  func `Malformed phone numbers are refused and not repeated`(number: String) throws {
    let preparation = try handler().prepare(text(to: number), of: message)
    #expect(short(preparation) == "refused INVALID_NUMBER")
    guard case .refused(let reason, _) = preparation else { return }
    if number.count > 5 { #expect(!reason.detail.contains(number)) }
  }

  @Test(
    arguments: [
      "+4915112345678", "+5511912345678", "+919876543210", "+819012345678", "+16505553434", "+2290112345678",
      "+79161234567",
    ])
  func `Numbers of many countries are taken`(number: String) throws {
    #expect(short(try handler().prepare(text(to: number), of: message)) == "ready")
  }

  @Test func `Texts out of bounds are refused`() throws {
    func outcome(_ value: String, _ limits: SMSLimits = SMSLimits()) throws -> String {
      short(try handler(limits: limits).prepare(text(value), of: message))
    }
    #expect(try outcome("") == "refused INVALID_TEXT")
    #expect(try outcome("a\u{0}b") == "refused INVALID_TEXT")
    #expect(try outcome("a\r\n\tb") == "ready")
    #expect(try outcome(String(repeating: "a", count: 1530)) == "ready")
    #expect(try outcome(String(repeating: "a", count: 1531)) == "refused TEXT_TOO_LONG")
    #expect(try outcome(String(repeating: "a", count: 1601), SMSLimits(maxSegments: 30)) == "refused TEXT_TOO_LONG")
    #expect(try outcome(String(repeating: "a", count: 1600), SMSLimits(maxSegments: 30)) == "ready")
    #expect(try outcome(String(repeating: "あ", count: 71), SMSLimits(maxSegments: 1)) == "refused TEXT_TOO_LONG")
  }

  @Test func `A text that hides something, or turns the direction of what follows, is refused`() throws {
    for value in ["code \u{202E}319284", "a\u{200B}b", "a\u{2028}@bank.example #123456", "a\u{E000}", "pay\u{200D}pal"]
    {
      #expect(
        short(try handler().prepare(text(value), of: message)) == "refused INVALID_TEXT", "\(value.debugDescription)")
    }
    for value in ["می\u{200C}خواهم 👩🏽\u{200D}💻", "کد ۶\u{200C}رقمی", "SMS\u{200C}ها", "លេខ\u{200B}កូដ"] {
      #expect(short(try handler().prepare(text(value), of: message)) == "ready", "\(value.debugDescription)")
    }
  }

  @Test func `A text with isolates is refused, and the refusal names the usual reason`() throws {
    guard case .refused(let reason, _) = try handler().prepare(text("Hi \u{2068}Ada\u{2069}"), of: message) else {
      return #expect(Bool(false), "not refused")
    }
    #expect(reason.detail.contains("Project Fluent"))
  }

  @Test func `Only a template writes the line by which a phone fills in a code, and only for the domain of its job`()
    throws
  {
    for value in [
      "Hi.\n@bank.example #123456", "@bank.example #123456", "x\r\n@bank.example #123456\r\n",
      "x\n\n  @bank.example #1 \n \n",
      "x\r@bank.example #123456 %shop.example", "x\n\u{200F}@bank.example #1", "x\n＠bank.example ＃1",
      "x\n@bank.example  \u{200E}#1", "x\n@bank.example #1 thanks", "x\n@bank。example #1 thanks", "x\n@localhost #1",
    ] {
      #expect(
        short(try handler().prepare(text(value), of: message)) == "refused INVALID_TEXT", "\(value.debugDescription)")
      let open = SMSLimits(allowsDomainBoundCodes: true)
      #expect(short(try handler(limits: open).prepare(text(value), of: message)) == "ready")
    }
    for value in [
      "Write to a@b.example #1", "@example says hi", "@bank.example #1\nis no last line", "#1 @bank.example",
      "@anna mentioned you in #general", "@anna #general is quiet", "@anna.k wrote: #1", "@ #1", "@bank.example #",
    ] {
      #expect(short(try handler().prepare(text(value), of: message)) == "ready", "\(value.debugDescription)")
    }
    let code = SecretField(Secret("482913"))
    let named = SMSDispatchJob.Variables(code: code, appName: "Example", domain: "example.com")
    #expect(
      try job(try handler().prepare(template(named), of: message)).job.text.text.hasSuffix("@example.com #482913"))
  }

  @Test func `A template is filled in, in the language of the job`() throws {
    let variables = SMSDispatchJob.Variables(
      code: SecretField(Secret("482913")), appName: "Example", domain: "example.com")
    let job = try job(try handler().prepare(template(variables), of: message))
    #expect(job.job.text.text.hasPrefix("482913 ist Ihr Bestätigungscode für Example."))
    #expect(job.job.text.text.hasSuffix("\n@example.com #482913"))
    #expect(job.job.languageCode == "de")
  }

  @Test func `The name of the configuration stands in for a missing one`() throws {
    let variables = SMSDispatchJob.Variables(code: SecretField(Secret("482913")))
    #expect(short(try handler().prepare(template(variables), of: message)) == "refused MISSING_VARIABLE")
    let job = try job(try handler(appName: "Fallback").prepare(template(variables), of: message))
    #expect(job.job.text.text.contains("für Fallback."))
  }

  @Test func `Faults of a template are named`() throws {
    let code = SecretField(Secret("482913"))
    func outcome(_ variables: SMSDispatchJob.Variables, _ name: String = "verification") throws -> String {
      short(try handler().prepare(template(variables, name: name), of: message))
    }
    #expect(try outcome(.init(code: code, appName: "Example"), "nope") == "refused UNKNOWN_TEMPLATE")
    #expect(try outcome(.init(appName: "Example")) == "refused MISSING_VARIABLE")
    #expect(try outcome(.init(code: code, appName: "x\n@evil.example #1")) == "refused INVALID_VARIABLE")
  }

  @Test func `A sealed code is opened for its own message only`() throws {
    let keys = try KeyRing(jwkSet: Array(#"{"keys":[\#(KeyRing.generate(kid: "k1"))]}"#.utf8))
    let other = try KeyRing(jwkSet: Array(#"{"keys":[\#(KeyRing.generate(kid: "k2"))]}"#.utf8))
    func sealed(id: String = "v.sms.1", to: String = "+14155550123") throws -> SMSDispatchJob {
      let context = SealContext(messageType: SMSDispatchJob.type, messageID: id, recipient: to)
      let code = try Sealer(keys: keys).seal(Secret("482913"), for: context)
      return template(.init(code: code, appName: "Example"))
    }
    let job = try job(try handler(keys: keys).prepare(try sealed(), of: message))
    #expect(job.job.text.text.hasPrefix("482913 "))
    func outcome(_ job: SMSDispatchJob, _ keys: KeyRing?) throws -> String {
      short(try handler(keys: keys).prepare(job, of: message))
    }
    #expect(try outcome(sealed(id: "other.sms.1"), keys) == "invalid SEAL_MISMATCH")
    #expect(try outcome(sealed(to: "+14155550199"), keys) == "invalid SEAL_MISMATCH")
    #expect(try outcome(sealed(), other) == "invalid UNKNOWN_KEY")
    #expect(try outcome(sealed(), nil) == "invalid UNKNOWN_KEY")
  }

  @Test func `The job's lane pins one; an unknown one is refused by name of those that exist`() throws {
    #expect(try job(try handler().prepare(text(lane: "b"), of: message)).facts.lanes == ["b"])
    let preparation = try handler().prepare(text(lane: "c"), of: message)
    #expect(short(preparation) == "refused UNKNOWN_LANE")
    guard case .refused(let reason, _) = preparation else { return }
    #expect(reason.detail.hasSuffix("it has: a, b."))
  }

  @Test func `Lanes with a list of regions serve these only`() throws {
    let routes = [LaneRoute(FakeLane("eu"), regions: ["DE", "FR"]), LaneRoute(FakeLane("us"), regions: ["US"])]
    let german = try handler(routes).prepare(text(to: "+4915112345678"), of: message)
    #expect(try job(german).facts.lanes == ["eu"])
    #expect(short(try handler(routes).prepare(text(to: "+819012345678"), of: message)) == "refused NO_ROUTE")
    let all = routes + [LaneRoute(FakeLane("all"))]
    #expect(try job(try handler(all).prepare(text(to: "+819012345678"), of: message)).facts.lanes == ["all"])
    #expect(try job(try handler(all).prepare(text(to: "+14155550123"), of: message)).facts.lanes == ["us", "all"])
  }

  @Test func `A pinned lane has to take such messages, unless it allows to be pinned`() throws {
    let eu = RouteRules(regions: ["DE"], apps: [])
    let strict = [LaneRoute(FakeLane("eu"), rules: eu), LaneRoute(FakeLane("all"))]
    func outcome(_ routes: [LaneRoute], to number: String) throws -> String {
      short(try handler(routes).prepare(text(to: number, lane: "eu"), of: message))
    }
    #expect(try outcome(strict, to: "+4915112345678") == "ready")
    #expect(try outcome(strict, to: "+819012345678") == "refused LANE_NOT_ALLOWED")
    let prefixed = [LaneRoute(FakeLane("eu"), rules: RouteRules(prefixes: ["+49"]))]
    #expect(try outcome(prefixed, to: "+819012345678") == "refused LANE_NOT_ALLOWED")
    let apps = [LaneRoute(FakeLane("eu"), rules: RouteRules(apps: ["com.example.app"]))]
    #expect(try outcome(apps, to: "+4915112345678") == "refused LANE_NOT_ALLOWED")
    let open = [LaneRoute(FakeLane("eu"), rules: eu, allowsPinned: true)]
    #expect(try outcome(open, to: "+819012345678") == "ready")
  }

  @Test(
    arguments: [
      ("+19002345678", "refused NUMBER_TYPE_REFUSED"), ("+18002345678", "refused NUMBER_TYPE_REFUSED"),
      ("+49301234567", "refused NUMBER_TYPE_REFUSED"), ("+14155550123", "ready"), ("+4915112345678", "ready"),
      ("+819012345678", "refused REGION_NOT_ALLOWED"), ("+2348031234567", "refused REGION_NOT_ALLOWED"),
      // Of no country: dear, and allowed by its calling code alone.
      ("+870773111632", "refused REGION_NOT_ALLOWED"),
    ])
  func `Numbers that cost somebody, and those outside the regions, get nothing, whoever asks`(
    number: String, outcome: String
  ) throws {
    let rules = RecipientRules(regions: RegionRules(allowed: ["US", "DE"], refusedTypes: [.fixedLine, .voip]))
    for lane in [nil, "a"] {
      let preparation = try handler(recipients: rules).prepare(text(to: number, lane: lane), of: message)
      #expect(short(preparation) == outcome)
    }
  }

  @Test func `Characters younger than the library's tables count`() throws {
    let table = """
      {"date": "2026-11-21", "source": "a test", "ranges": [
        {"region": "US", "countryCode": 1, "type": "premiumRate", "length": 10, "prefixes": ["4155550"]}],
       "goneLengths": [{"countryCode": 229, "lengths": [8]}]}
      """
    let overrides = try JSONDecoder().decode(NumberOverrides.self, from: Data(table.utf8))
    let rules = RecipientRules(regions: RegionRules(allowed: ["*"]), overrides: overrides)
    func outcome(_ number: String) throws -> String {
      short(try handler(recipients: rules).prepare(text(to: number), of: message))
    }
    #expect(try outcome("+14155550123") == "refused NUMBER_TYPE_REFUSED")
    #expect(try outcome("+14155560123") == "ready")
    #expect(try outcome("+22990123456") == "refused INVALID_NUMBER")
  }

  @Test func `An unknown outcome is repeated when the job says so, or when its only lane deduplicates`() throws {
    #expect(try job(try handler().prepare(text(onUnknown: .resend), of: message)).facts.onUnknown == .sender(.resend))
    let hook = FakeLane("hook", deduplicates: true)
    #expect(
      try job(try handler([LaneRoute(hook)]).prepare(text(onUnknown: .report), of: message)).facts.onUnknown == .resend)
    let both = [LaneRoute(hook), LaneRoute(FakeLane("a"))]
    #expect(
      try job(try handler(both).prepare(text(onUnknown: .report), of: message)).facts.onUnknown == .sender(.report))
  }

  @Test func `A lane gets a long text in the form that it allows, and the result says which`() async throws {
    let plain = FakeLane("plain")
    let turkish = FakeLane("turkish")
    let ascii = FakeLane("ascii")
    let table = try Transliteration(file: Shipped.config + "/transliteration.json5")
    let handler = try handler([
      LaneRoute(plain), LaneRoute(turkish, text: TextOptions(nationalShiftTables: true)),
      LaneRoute(ascii, text: TextOptions(transliteration: table)),
    ])
    let text = String(repeating: "Doğrulama kodunuzu kimseyle paylaşmayın. ", count: 3)
    var extras: [String: ResultExtras] = [:]
    for lane in [plain, turkish, ascii] {
      let outcome = await handler.perform(Sample.message(text), on: lane.name, Sample.attempt())
      guard case .accepted(_, let found) = outcome else { continue }
      extras[lane.name] = found
    }
    #expect(plain.sent.map(\.text) == [SMSText(text)])
    #expect(extras["plain"] == [:])
    #expect(turkish.sent.map(\.text.text) == [text])
    #expect(
      extras["turkish"]
        == ["segments": .int(1), "encoding": .string("gsm7"), "nationalLanguage": .string("turkish")])
    #expect(ascii.sent.first?.text.text.hasPrefix("Dogrulama kodunuzu kimseyle paylasmayin.") == true)
    #expect(extras["ascii"] == ["segments": .int(1), "encoding": .string("gsm7")])
  }

  @Test func `The lane that the engine names gets the message`() async throws {
    let b = FakeLane("b", found: .accepted(reference: "found"))
    let handler = try handler([LaneRoute(FakeLane("a")), LaneRoute(b)])
    let outcome = await handler.perform(Sample.message("Hi"), on: "b", Sample.attempt())
    #expect(outcome.short == "accepted r")
    #expect(b.sent.map(\.text.text) == ["Hi"])
    #expect(await handler.lookUp(Sample.message(), on: "b", Sample.attempt())?.short == "accepted found")
    #expect(await handler.lookUp(Sample.message(), on: "a", Sample.attempt()) == nil)
  }
}
