import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import PhoneNumbers
import TestSupport
import Testing

@testable import Coordination

@Suite struct CommandTests {
  let bench: Bench

  init() async throws { bench = try await Bench() }

  @Test func `A start answers with an ID, sends one sealed code and tells of it`() async throws {
    let started = try await bench.start(language: "pt-BR")
    #expect(started.phoneNumber == Bench.number)
    #expect(started.codeLength == 6)
    #expect(started.resendAfter == 30)
    #expect(started.expiresAt == bench.clock.now() + .seconds(300))
    #expect(!started.resent && !started.testNumber)
    #expect(started.verificationID.utf8.count == 30)
    let jobs = try bench.jobs()
    #expect(jobs.count == 1)
    #expect(jobs[0].id == "\(started.verificationID).sms.1")
    #expect(jobs[0].job.to == Bench.number)
    #expect(jobs[0].job.deadline == started.expiresAt)
    #expect(jobs[0].job.onUnknown == .resend)
    #expect(jobs[0].code.utf8.count == 6)
    #expect(bench.events() == ["verification.started"])
  }

  @Test func `Verifications that are live at the start are counted by the gauge`() async throws {
    _ = try await bench.start()
    let ended = try await bench.start("+14155550177")
    _ = try await bench.ask(CancelVerification(verificationID: ended.verificationID))
    #expect(bench.metrics.liveVerifications.value == 1)
    bench.metrics.liveVerifications.set(0)
    try await bench.takeOver()
    #expect(bench.metrics.liveVerifications.value == 1)
  }

  @Test func `The code is nowhere in the clear: not in the database, the job, the events, the reply or the logs`()
    async throws
  {
    let (_, code) = try await bench.begin()
    for publication in bench.sink.published {
      #expect(!String(decoding: publication.message.body, as: UTF8.self).contains(code))
    }
    #expect(try await bench.count("verification") == 1)
    #expect(try await !bench.dump("verification").contains(code))
  }

  @Test func `Asking again before the gap is over gives the same verification and sends nothing`() async throws {
    let first = try await bench.start()
    bench.clock.advance(by: .seconds(29))
    let second = try await bench.start()
    #expect(second.verificationID == first.verificationID)
    #expect(second.resendAfter == 1)
    #expect(!second.resent)
    #expect(try bench.jobs().isEmpty)
    #expect(bench.events().isEmpty)
  }

  @Test func `Asking again after the gap sends the same code again`() async throws {
    let (id, code) = try await bench.begin()
    bench.clock.advance(by: .seconds(30))
    let second = try await bench.start()
    #expect(second.verificationID == id)
    #expect(second.resent)
    #expect(second.resendAfter == 60)
    let jobs = try bench.jobs()
    #expect(jobs.map(\.id) == ["\(id).sms.2"])
    #expect(jobs.map(\.code) == [code])
    #expect(try await bench.check(id, code).type == "verification.approved.v1")
  }

  @Test func `Two starts in one batch are one verification`() async throws {
    let command = StartVerification(phoneNumber: Bench.number, app: Bench.app)
    let source = await bench.deliver([
      try bench.message(command), try bench.message(command), try bench.message(command),
    ])
    #expect(source.ackedCount == 3)
    #expect(try bench.jobs().count == 1)
    let replies = try bench.replies.map { try VerificationStarted(json: $0.body).verificationID }
    #expect(replies.count == 3)
    #expect(Set(replies).count == 1)
    #expect(try await bench.count("verification") == 1)
  }

  @Test func `Another app's verification of the same number is another one`() async throws {
    try await Bench.with(
      Bench.rules { $0.apps["other"] = AppProfile(id: "other", name: "Other", verification: .trusted) }
    ) { bench in
      let first = try await bench.start()
      let second = try await bench.start(app: "other")
      #expect(first.verificationID != second.verificationID)
    }
  }

  @Test func `Every way in which a code can be refused has its own error`() async throws {
    let (id, code) = try await bench.begin()
    let wrong = Bench.wrong(code)

    #expect(try await bench.checkError(id, wrong) == .invalidCode)
    #expect(try await bench.checkError("AAAAAAAAAAAAAAAAAAAAAA", code) == .invalidSessionInfo)
    #expect(try await bench.checkError("", code) == .invalidSessionInfo)
    #expect(try await bench.checkError(id, "no code at all") == .invalidCode)
    #expect(try await bench.check(id, code).type == "verification.approved.v1")
    let used = try await bench.error(CheckVerification(verificationID: id, code: SecretField(Secret(code))))
    #expect(used.code == .sessionExpired && used.reason == "CODE_USED")
    let guess = try await bench.error(CheckVerification(verificationID: id, code: SecretField(Secret(wrong))))
    #expect(guess.code == .sessionExpired && guess.reason == nil)

    let (expiring, second) = try await bench.begin()
    bench.clock.advance(by: .seconds(300))
    #expect(try await bench.checkError(expiring, second) == .sessionExpired)

    let (guessed, third) = try await bench.begin("+14155550199")
    for _ in 0..<4 { #expect(try await bench.checkError(guessed, Bench.wrong(third)) == .invalidCode) }
    #expect(try await bench.checkError(guessed, Bench.wrong(third)) == .tooManyAttempts)
    #expect(try await bench.checkError(guessed, third) == .tooManyAttempts)

    let canceled = try await bench.start("+14155550188")
    _ = try await bench.ask(CancelVerification(verificationID: canceled.verificationID))
    #expect(bench.events() == ["verification.canceled"])
    #expect(try await bench.checkError(canceled.verificationID, "123456") == .sessionExpired)
  }

  @Test func `A new verification after the end has another ID; an expired one is told of`() async throws {
    let first = try await bench.start()
    bench.clock.advance(by: .seconds(300))
    let second = try await bench.start()
    #expect(first.verificationID != second.verificationID)
    #expect(bench.events() == ["verification.expired", "verification.started"])
  }

  @Test func `People type codes with spaces, hyphens and the digits of their script`() {
    #expect(CodeText.digits("123 456") == "123456")
    #expect(CodeText.digits("12-34-56\n") == "123456")
    #expect(CodeText.digits("١٢٣٤٥٦") == "123456")
    #expect(CodeText.digits("\u{200F}১২৩৪৫৬") == "123456")
    for text in ["", " ", "12345x", "½", "²²²²²²", String(repeating: "1", count: 65)] {
      #expect(CodeText.digits(text) == nil, "\(text)")
    }
  }

  @Test func `A fictional number gets no message, no limit but that of wrong codes, and its fixed code`() async throws {
    for index in 0..<25 {
      let started = try await bench.start(Bench.fictional)
      #expect(started.testNumber)
      #expect(try bench.jobs().isEmpty)
      if index.isMultiple(of: 5) {
        #expect(try await bench.checkError(started.verificationID, "000000") == .invalidCode)
      }
      #expect(try await bench.check(started.verificationID, "654321").type == "verification.approved.v1")
    }
    // Wrong codes are counted for the hour; from an address they would count for its network, too.
    #expect(try await bench.count("counter") == 1)
    // With verification off, only these complete.
    let closed = try await bench.start(Bench.fictional, app: "closed")
    #expect(try await bench.check(closed.verificationID, "111111").type == "verification.approved.v1")
    #expect(
      try await bench.error(StartVerification(phoneNumber: Bench.number, app: "closed")).code == .appNotVerified)
  }

  @Test(
    arguments: [
      (StartVerification(phoneNumber: "", app: Bench.app), .missingPhoneNumber, "phoneNumber"),
      (StartVerification(phoneNumber: "hello", app: Bench.app), .invalidPhoneNumber, "phoneNumber"),
      (StartVerification(phoneNumber: "+1415555", app: Bench.app), .invalidPhoneNumber, "phoneNumber"),
      (StartVerification(phoneNumber: "4155550123", app: Bench.app), .invalidPhoneNumber, "phoneNumber"),
      (StartVerification(phoneNumber: "+19002345678", app: Bench.app), .invalidPhoneNumber, "phoneNumber"),
      (StartVerification(phoneNumber: "+4915123456789", app: Bench.app), .operationNotAllowed, "phoneNumber"),
      (StartVerification(phoneNumber: Bench.number, app: ""), .missingClientIdentifier, "app"),
      (StartVerification(phoneNumber: Bench.number, app: "nobody"), .invalidArgument, "app"),
      (
        StartVerification(phoneNumber: Bench.number, app: Bench.app, languageCode: "<b>"), .invalidArgument,
        "languageCode"
      ),
      (
        StartVerification(phoneNumber: Bench.number, app: Bench.app, client: .init(ip: "1.2.3")), .invalidArgument,
        "client.ip"
      ),
    ] as [(StartVerification, APIErrorCode, String)])
  func `Each fault of a start has its own error`(command: StartVerification, code: APIErrorCode, field: String)
    async throws
  {
    let error = try await bench.error(command)
    #expect(error.code == code)
    #expect(error.field == field)
    #expect(try await bench.count("verification") == 0)
  }

  @Test func `A national number with its region is the same number`() async throws {
    var command = StartVerification(phoneNumber: "(415) 555-0123", app: Bench.app)
    command.region = "US"
    #expect(try await bench.reply(to: command).phoneNumber == Bench.number)
  }

  /// Numbers that no version of the library knows.
  private static let young = """
    { date: "2026-11-21", source: "test", ranges: [
      { region: "NG", countryCode: 234, type: "mobile", length: 10, prefixes: ["6660"] },
      { region: "US", countryCode: 1, type: "mobile", length: 13, prefixes: ["415555"] },
    ] }
    """

  private func overrides(_ text: String = young) throws -> NumberOverrides {
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    return try decoder.decode(NumberOverrides.self, from: Data(text.utf8))
  }

  @Test
  func
    `A number of a range that the library does not know is under a limit of its own, unless the table calls it mobile`()
    async throws
  {
    func sent(_ overrides: NumberOverrides) async throws -> Int {
      let rules = Bench.rules {
        $0.limits[.sendsToUnknownTypePerPrefixPer10Minutes] = 2
        $0.numberOverrides = overrides
      }
      var sent = 0
      try await Bench.with(rules) { bench in
        for index in 0..<4 {
          let command = StartVerification(phoneNumber: "+234666012345\(index)", app: Bench.app)
          if try await bench.ask(command).type == "verification.started.v1" { sent += 1 }
        }
      }
      return sent
    }
    #expect(try PhoneNumber.parse("+2346660123450").type == .unknown)
    #expect(try await sent(.none) == 2)
    #expect(try await sent(overrides()) == 4)
  }

  @Test func `A number of a length that the library does not know is possible if the table has it`() async throws {
    let command = StartVerification(phoneNumber: "+14155551234567", app: Bench.app)
    try await Bench.with { bench throws in
      #expect(try await bench.error(command).code == .invalidPhoneNumber)
    }
    let table = try overrides()
    let bench = try await Bench(Bench.rules { $0.numberOverrides = table })
    #expect(try await bench.reply(to: command).phoneNumber == "+14155551234567")
  }

  @Test func `A number that costs somebody by the table gets no message, nor one of a length that is gone`()
    async throws
  {
    let table = try overrides(
      """
      { date: "2026-11-22", source: "test", goneLengths: [{ countryCode: 49, lengths: [11] }], ranges: [
        { region: "US", countryCode: 1, type: "premiumRate", length: 10, prefixes: ["4155559"] },
      ] }
      """)
    let bench = try await Bench(Bench.rules { $0.numberOverrides = table })
    let priced = try await bench.error(StartVerification(phoneNumber: "+14155559123", app: Bench.app))
    #expect(priced.code == .invalidPhoneNumber)
    #expect(priced.message.contains("type"))
    let gone = try await bench.error(StartVerification(phoneNumber: "+4915123456789", app: Bench.app))
    #expect(gone.code == .invalidPhoneNumber)
    #expect(try bench.jobs().isEmpty)
  }

  @Test(
    arguments: [
      ("tel:+1-415-555-0199", nil), ("tel:555-0199;phone-context=+1415", nil), ("tel:(415)555-0199", "US"),
      ("tel:+14155550199;ext=7", nil), ("tel:0199;phone-context=example.com", "US"),
    ] as [(String, String?)])
  func `A tel: URI is read as the number in it, and never with an extension`(text: String, region: String?) async throws
  {
    var command = StartVerification(phoneNumber: text, app: Bench.app)
    command.region = region
    if text.contains(";ext=") || text.contains("example.com") {
      let error = try await bench.error(command)
      #expect(error.code == .invalidPhoneNumber)
      #expect(error.field == "phoneNumber")
    } else {
      #expect(try await bench.reply(to: command).phoneNumber == "+14155550199")
    }
  }

  @Test func `The message of an Android app bears its hash`() async throws {
    let rules = Bench.rules {
      $0.apps["android"] = AppProfile(id: "android", name: "A", verification: .trusted)
      $0.apps["android"]?.androidHash = "FA+9qCX9VSu"
    }
    let bench = try await Bench(rules)
    _ = try await bench.ask(StartVerification(phoneNumber: Bench.number, app: "android"))
    let job = try #require(try bench.jobs().first?.job)
    guard case .template(_, _, let variables) = job.content else {
      Issue.record("no template")
      return
    }
    #expect(variables.androidHash == "FA+9qCX9VSu")
    #expect(variables.domain == nil)
  }

  @Test func `A limit that is reached says for how long`() async throws {
    try await Bench.with(Bench.rules { $0.limits[.sendsPerNumberPer10Minutes] = 1 }) { bench in
      _ = try await bench.start()
      bench.clock.advance(by: .seconds(300))
      let error = try await bench.error(StartVerification(phoneNumber: Bench.number, app: Bench.app))
      #expect(error.code == .tooManyAttempts)
      #expect(error.retryAfter == 300)
    }
    let bench = try await Bench(Bench.rules { $0.limits[.sendsPerDay] = 0 })
    let error = try await bench.error(StartVerification(phoneNumber: Bench.number, app: Bench.app))
    #expect(error.code == .quotaExceeded)
    #expect(error.retryAfter != nil)
  }

  @Test func `When a limit forbids a resend, the answer is the live verification and the wait`() async throws {
    let bench = try await Bench(Bench.rules { $0.limits[.sendsPerNumberPer10Minutes] = 1 })
    let (id, code) = try await bench.begin()
    bench.clock.advance(by: .seconds(40))
    let again = try await bench.start()
    #expect(again.verificationID == id)
    #expect(!again.resent && again.resendAfter == 560)
    #expect(try bench.jobs().isEmpty)
    #expect(bench.registry.render().contains(#"countersign_limited_total{limit="number"} 1"#))
    #expect(try await bench.check(again.verificationID, code).type == "verification.approved.v1")
  }

  @Test func `A code whose verification is almost over is not sent again: a new verification begins`() async throws {
    try await Bench.with { bench in
      let first = try await bench.start()
      bench.clock.advance(by: .seconds(299))
      #expect(try await bench.start().resent)
      // The last second in which it is worth to be sent again.
      bench.clock.advance(by: .seconds(241))
      let last = try await bench.start()
      #expect(last.verificationID == first.verificationID && last.resent)
      bench.clock.advance(by: .seconds(59))
      #expect(try await bench.start().verificationID == first.verificationID, "the gap is not over")
    }
    let (first, code) = try await bench.begin()
    bench.clock.advance(by: .seconds(299))
    #expect(try await bench.start().verificationID == first)
    bench.clock.advance(by: .seconds(242))
    let second = try await bench.start()
    #expect(second.verificationID != first && !second.resent)
    #expect(second.expiresAt == bench.clock.now() + .seconds(300))
    #expect(bench.events() == ["verification.expired", "verification.started"])
    #expect(try bench.jobs().map(\.id) == ["\(second.verificationID).sms.1"])
    #expect(try await bench.checkError(first, code) == .sessionExpired)
  }

  @Test func `When no new verification may begin, one that is almost over is still the answer`() async throws {
    let bench = try await Bench(Bench.rules { $0.limits[.sendsPerNumberPerDay] = 2 })
    let (first, code) = try await bench.begin()
    bench.clock.advance(by: .seconds(299))
    _ = try await bench.start()
    bench.clock.advance(by: .seconds(299))
    let again = try await bench.start()
    #expect(again.verificationID == first && !again.resent)
    #expect(again.resendAfter == 86_400 - 598)
    #expect(try await bench.check(again.verificationID, code).type == "verification.approved.v1")
  }

  @Test
  func `Checks of a number are limited over all its verifications, and one too many is not counted against the code`()
    async throws
  {
    let bench = try await Bench(Bench.rules { $0.limits[.checksPerNumberPerHour] = 2 })
    let (id, code) = try await bench.begin()
    for _ in 0..<2 { #expect(try await bench.checkError(id, Bench.wrong(code)) == .invalidCode) }
    let error = try await bench.error(CheckVerification(verificationID: id, code: SecretField(Secret(code))))
    #expect(error.code == .tooManyAttempts)
    #expect(error.retryAfter == 3600)
    #expect(try await bench.status(id).timeline.filter { $0.event == "check.wrong" }.count == 2)
  }

  @Test func `A look is answered under any ID, also one of another command, and is not recorded`() async throws {
    let looks = bench.flows().registry.commandKinds.filter(\.isLook).map(\.type.text)
    #expect(looks == ["operation.status.v1", "operator.audit.v1", "verification.find.v1", "verification.status.v1"])
    let start = StartVerification(phoneNumber: Bench.number, app: Bench.app)
    let started = try VerificationStarted(json: try await bench.ask(start, id: "m", user: "service").body)
    let look = GetVerificationStatus(verificationID: started.verificationID)
    for id in ["m", "n"] {
      #expect(try await bench.ask(look, id: id, user: "service").type == "verification.state.v1")
    }
    #expect(try await bench.count("inbox") == 1)
  }

  @Test func `A reply repeats the correlation ID and names what led to it`() async throws {
    let message = try bench.message(StartVerification(phoneNumber: Bench.number, app: Bench.app), id: "m")
    await bench.deliver([message])
    let reply = try #require(bench.sink.published.first { $0.exchange.isEmpty })
    #expect(reply.routingKey == "amq.gen-replies")
    #expect(reply.message.correlationID == message.correlationID)
    #expect(reply.message.messageID == "m.reply")
    #expect(reply.message.headers["x-causation-id"] == .string("m"))
    #expect(reply.message.isPersistent)
    #expect(reply.mandatory)
  }

  @Test func `A pepper that was changed: the previous one still knows its codes, an unknown one ends the verification`()
    async throws
  {
    try await Bench.with { bench in
      let (id, code) = try await bench.begin()
      bench.keeper = VerificationCodes(current: try Pepper(SecureRandom.bytes(32)))
      let check = CheckVerification(verificationID: id, code: SecretField(Secret(code)))
      for events in [["verification.failed"], []] {
        let error = try await bench.error(check)
        #expect(bench.events() == events)
        #expect(error.code == .sessionExpired && error.reason == "CODE_LOST")
        #expect(error.message.hasPrefix("the code can no longer be compared"))
      }
      // Told once, with what to check, and counted.
      let lines = bench.logs.events.filter { $0.level == .error }
      #expect(lines.count == 1 && "\(lines)".contains("previousPepperFile"))
      #expect(bench.registry.render().contains(#"countersign_codes_lost_total{number="real"} 1"#))
    }
    let old = try Pepper(SecureRandom.bytes(32))
    let before = VerificationCodes(current: old)
    let after = VerificationCodes(current: try Pepper(SecureRandom.bytes(32)), previous: old)
    let (code, atRest) = before.makeCode(for: "id", seed: SecureRandom.bytes(32))
    #expect(after.code(of: atRest, for: "id") == code)
    #expect(after.matches(code, atRest, for: "id"))
  }

  @Test
  func `With requireSealed a secret in the clear is refused in every command: nothing is sent, nothing is counted`()
    async throws
  {
    let (id, code) = try await bench.begin()
    bench.requireSealed()
    let plain = SecretField(Secret(Bench.wrong(code)))
    let before = (metrics: bench.counts(), usage: try await bench.dump("counter"))
    let commands: [(command: any Command, field: String)] = [
      (CheckVerification(verificationID: id, code: plain), "code"),
      (CheckVerification(verificationID: id, code: SecretField(Secret(code))), "code"),
      (bench.startCommand(Bench.pair("receipt", "secret"), ip: nil), "proof.secret"),
      (bench.startCommand(Bench.captcha("token"), app: Bench.recaptchaApp, ip: nil), "proof.recaptchaToken"),
      (StartRevocation(app: Bench.app, token: .refreshToken(plain)), "refreshToken"),
    ]
    for (command, field) in commands {
      let error = try await bench.error(command)
      #expect(error.code == .invalidArgument && error.field == field)
      #expect(
        error.message == "\(field) is in the clear, and only sealed secrets are accepted here (requireSealed)")
      #expect(bench.sink.published.count == 1, "besides the reply to \(field)")
    }
    #expect(bench.counts() == before.metrics)
    #expect(try await bench.dump("counter") == before.usage)
    #expect(try await bench.count("verification") == 1)
    #expect(try await bench.count("revocation") == 0)
    let context = SealContext(messageType: CheckVerification.type, messageID: "sealed", recipient: id)
    let sealed = CheckVerification(
      verificationID: id, code: try Sealer(keys: bench.keys).seal(Secret(code), for: context))
    #expect(try await bench.ask(sealed, id: "sealed").type == "verification.approved.v1")
  }

  @Test
  func `The code of a check may be sealed; one that was moved, or is under another key, is refused and not counted`()
    async throws
  {
    let (id, text) = try await bench.begin()
    let code = Secret(text)
    func sealed(_ keys: KeyRing, messageID: String) throws -> CheckVerification {
      let context = SealContext(messageType: CheckVerification.type, messageID: messageID, recipient: id)
      return CheckVerification(verificationID: id, code: try Sealer(keys: keys).seal(code, for: context))
    }
    let moved = try await bench.ask(try sealed(bench.keys, messageID: "a"), id: "b")
    #expect(try ErrorReply(json: moved.body).error.field == "code")
    #expect(try ErrorReply(json: moved.body).error.code == .invalidArgument)
    let strangers = try KeyRing(sealing: SymmetricKey(id: "k2", bytes: SecureRandom.bytes(32)))
    let foreign = try await bench.ask(try sealed(strangers, messageID: "c"), id: "c")
    #expect(try ErrorReply(json: foreign.body).error.message.contains("k2"))
    #expect(try await bench.status(id).timeline.count == 2)
    #expect(try await bench.ask(try sealed(bench.keys, messageID: "d"), id: "d").type == "verification.approved.v1")
  }
}

extension Bench {
  /// The series that count what limits, codes, proofs and operations came to.
  fileprivate func counts() -> [Substring] {
    let names = ["limited", "wrong_codes", "verifications", "app_proofs", "operations"]
    return registry.render().split(separator: "\n").filter { line in
      names.contains { line.hasPrefix("countersign_\($0)_total{") }
    }
  }
}
