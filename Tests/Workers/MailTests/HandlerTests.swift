import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import JobEngine
import SMTPClient
import TestSupport
import Testing

@testable import Mail

@Suite struct HandlerTests {
  private struct Fixture {
    let handler: MailJobHandler
    let submitter: FakeSubmitter
    let suppressions: SuppressionList
    let keys: KeyRing
  }

  private func withHandler(
    relay: RelayRules = RelayRules(registeredSources: ["example.com"]), senders: [Sender]? = nil,
    answer: @escaping @Sendable (Int) -> Result<SMTPReply, SMTPFailure> = { _ in .success(.queued) },
    _ body: (Fixture) async throws -> Void
  ) async throws {
    let path = temporaryPath("suppressions")
    defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) } }
    let suppressions = try await SuppressionList.open(path: path)
    let keys = try KeyRing(jwkSet: Array(KeyRing.rotate(jwkSet: nil, kid: "k").utf8))
    let submitter = FakeSubmitter(answer)
    let signer = try DKIMSigner()
    let handler = MailJobHandler(
      lanes: [
        SMTPLane(
          name: "a", submitter: submitter, writer: MailWriter(signer: signer), table: try Shipped.table(),
          metrics: SMTPMetrics(MetricsRegistry(), lanes: ["a"], try Shipped.table()))
      ],
      policy: MailPolicy(
        senders: try senders ?? [.example(signer: signer)], relay: relay,
        composer: MailComposer(templates: try Shipped.templates(), keys: keys, appName: "Example")),
      suppressions: suppressions,
      logger: Logger(label: "test", sink: MemorySink()))
    try await body(Fixture(handler: handler, submitter: submitter, suppressions: suppressions, keys: keys))
    await suppressions.close()
  }

  private func job(
    to: String = "ada@privaterelay.appleid.com", from: String? = nil,
    _ content: MailRelayJob.Content = .message(subject: "Hi", text: "Text", html: nil), unsubscribe: String? = nil
  ) -> MailRelayJob {
    MailRelayJob(to: to, from: from, content: content, unsubscribeURL: unsubscribe, deadline: time + .seconds(600))
  }

  private let message = JobMessage(messageID: "job-1", messageType: MailRelayJob.type, receivedAt: time)

  private func refusal(_ preparation: Preparation<OutgoingMail>) -> String? {
    if case .refused(let reason, _) = preparation { reason.code } else { nil }
  }

  private func ready(_ preparation: Preparation<OutgoingMail>) throws -> OutgoingMail {
    guard case .ready(let mail, _) = preparation else { throw CancellationError() }
    return mail
  }

  @Test func `A job becomes a signed mail`() async throws {
    try await withHandler { fixture in
      let mail = try ready(fixture.handler.prepare(job(), of: message))
      let ending = await fixture.handler.perform(mail, on: "a", attempt())
      #expect(ending == .accepted(reference: "4Tk1"))
      let sent = try #require(fixture.submitter.messages.first)
      #expect(sent.sender == "hello@example.com" && sent.recipient == "ada@privaterelay.appleid.com")
      let text = String(decoding: sent.content, as: UTF8.self)
      #expect(
        text.hasPrefix("DKIM-Signature: ")
          && text.contains("Message-ID: <\(MailMessageID.text(attempt().job, domain: "example.com"))>"))
    }
  }

  @Test(
    arguments: [
      ("nobody", nil, "INVALID_RECIPIENT"), ("ada@example.org\r\nBcc: eve@example.org", nil, "INVALID_RECIPIENT"),
      ("ada@example.org\n", nil, "INVALID_RECIPIENT"),
      ("ada@example.org", "other@example.com", "SENDER_NOT_REGISTERED"),
      ("ada@example.org", "hello@example.com\r\nX: y", "SENDER_NOT_REGISTERED"),
    ] as [(String, String?, String)])
  func `Addresses that are refused`(to: String, from: String?, code: String) async throws {
    try await withHandler { fixture in
      #expect(refusal(fixture.handler.prepare(job(to: to, from: from), of: message)) == code)
      #expect(fixture.submitter.messages.isEmpty)
    }
  }

  @Test(
    arguments: [
      "Two\r\nlines", "a\nb", "", "a\0b", "a\u{2028}b", "a\u{200B}b",
      // Embeddings, overrides and isolates.
      "a\u{202A}b", "a\u{202B}b", "a\u{202C}b", "a\u{202D}b", "a\u{202E}b", "a\u{2066}b", "a\u{2067}b", "a\u{2068}b",
      "a\u{2069}b",
    ])
  func `Subjects that are refused`(subject: String) async throws {
    try await withHandler { fixture in
      let job = job(.message(subject: subject, text: "Text", html: nil))
      #expect(refusal(fixture.handler.prepare(job, of: message)) == "INVALID_SUBJECT")
    }
  }

  /// Hebrew and Arabic with digits and Latin words need marks of direction.
  @Test(
    arguments: ["קוד האימות שלך:\u{200F} 123456\u{200E} (Example)", "رمزك\u{061C} 123456", "א\u{200E}!"])
  func `Subjects with marks of direction`(subject: String) async throws {
    try await withHandler { fixture in
      let mail = try ready(
        fixture.handler.prepare(job(.message(subject: subject, text: "Text", html: nil)), of: message))
      #expect(mail.text.subject == subject)
    }
  }

  @Test(arguments: ["", "a\0b", "\u{1B}[31m", "a\u{202E}b", "a\u{200B}b", "a\u{E000}"])
  func `Texts that are refused`(text: String) async throws {
    try await withHandler { fixture in
      let job = job(.message(subject: "Hi", text: text, html: nil))
      #expect(refusal(fixture.handler.prepare(job, of: message)) == "INVALID_TEXT")
    }
  }

  @Test func `An unsubscribe address cannot add fields`() async throws {
    try await withHandler { fixture in
      for url in [
        "https://example.com/\r\nX: y", "javascript:alert(1)", "http://example.com/", "mailto:a@example.com",
        "https://example.com/" + String(repeating: "x", count: 1_000),
      ] {
        #expect(refusal(fixture.handler.prepare(job(unsubscribe: url), of: message)) == "INVALID_UNSUBSCRIBE_URL")
      }
    }
  }

  /// The longest that is taken makes no line longer than RFC 5322, 2.1.1, allows.
  @Test func `The longest unsubscribe address fits into a line`()
    async throws
  {
    try await withHandler { fixture in
      let url = "https://example.com/" + String(repeating: "x", count: MailPlainText.maxLinkBytes - 20)
      let mail = try ready(fixture.handler.prepare(job(unsubscribe: url), of: message))
      _ = await fixture.handler.perform(mail, on: "a", attempt())
      let text = String(decoding: try #require(fixture.submitter.messages.first).content, as: UTF8.self)
      #expect(text.contains("List-Unsubscribe: <\(url)>\r\n"))
      #expect(text.components(separatedBy: "\r\n").allSatisfy { $0.utf8.count <= 998 })
    }
  }

  /// Mail that Apple's relay would drop is not sent. Other recipients are not affected.
  @Test func `A sender that is not registered is refused for the relay`() async throws {
    try await withHandler(relay: RelayRules(registeredSources: ["other.example"])) { fixture in
      #expect(refusal(fixture.handler.prepare(job(), of: message)) == "SENDER_NOT_REGISTERED")
      #expect(refusal(fixture.handler.prepare(job(to: "ada@example.org"), of: message)) == nil)
    }
  }

  @Test func `The rules of the relay`() throws {
    let rules = RelayRules(registeredSources: ["example.com", "hello@other.example", "other.example"])
    #expect(rules.problem(with: try .example()) == nil)
    #expect(rules.problem(with: try .example(from: "hello@other.example")) == nil)
    #expect(rules.problem(with: try .example(from: "hello@sub.example.com"))?.contains("sub.example.com") == true)
    #expect(rules.problem(with: try .example(envelope: "b@bounce.example.com"))?.contains("envelope") == true)
    let unsigned = Sender(from: try #require(MailAddress("hello@example.com")))
    #expect(rules.problem(with: unsigned)?.contains("DKIM") == true)
    let elsewhere = Sender(
      from: try #require(MailAddress("hello@example.com")),
      keys: [try DKIMKey(domain: "esp.example", selector: "s", pem: SampleKeys.ed25519, signer: DKIMSigner())])
    #expect(rules.problem(with: elsewhere)?.contains("DKIM") == true)
  }

  @Test func `Sealed variables are opened for their own message only`()
    async throws
  {
    try await withHandler { fixture in
      let sealer = Sealer(keys: fixture.keys)
      let context = SealContext(messageType: MailRelayJob.type, messageID: "job-1", recipient: job().to)
      let sealed = job(
        .template(
          name: "address-verification", languageCode: "de",
          variables: .init(code: try sealer.seal(Secret("654321"), for: context))))
      let mail = try ready(fixture.handler.prepare(sealed, of: message))
      #expect(mail.text.text.contains("654321"))
      #expect(!"\(mail)".contains("654321"))
      var other = message
      other.messageID = "job-2"
      guard case .invalid(let problem) = fixture.handler.prepare(sealed, of: other) else { throw CancellationError() }
      #expect(problem.code.rawValue == "SEAL_MISMATCH")
    }
  }

  @Test func `Nonexistent recipients are suppressed until lifted`()
    async throws
  {
    let answer: @Sendable (Int) -> Result<SMTPReply, SMTPFailure> = { count in
      count == 1 ? .failure(.refused(.recipient, 550, "5.1.1", "user not found")) : .success(.queued)
    }
    try await withHandler(answer: answer) { fixture in
      let mail = try ready(fixture.handler.prepare(job(), of: message))
      guard case .refused(let first, let extras) = await fixture.handler.perform(mail, on: "a", attempt()) else {
        throw CancellationError()
      }
      #expect(first.code == "RECIPIENT_GONE" && first.providerCode == "550 5.1.1" && extras["suppress"] == true)
      guard case .refused(let second, _) = await fixture.handler.perform(mail, on: "a", attempt("job-2")) else {
        throw CancellationError()
      }
      #expect(second.code == "RECIPIENT_SUPPRESSED")
      #expect(fixture.submitter.messages.count == 1)
      let entries = try await fixture.suppressions.entries(limit: 10)
      #expect(entries.map(\.address) == ["ada@privaterelay.appleid.com"])
      #expect(entries.map(\.jobID) == ["job-1"])
      let address = try #require(MailAddress("ADA@privaterelay.appleid.com"))
      #expect(try await fixture.suppressions.lift(address))
      #expect(try await !fixture.suppressions.lift(address))
      #expect(await fixture.handler.perform(mail, on: "a", attempt("job-3")) == .accepted(reference: "4Tk1"))
    }
  }

  @Test func `Without the list nothing is sent`() async throws {
    try await withHandler { fixture in
      let mail = try ready(fixture.handler.prepare(job(), of: message))
      await fixture.suppressions.close()
      guard case .retry(let reason, _) = await fixture.handler.perform(mail, on: "a", attempt()) else {
        throw CancellationError()
      }
      #expect(reason.code == "STORE_UNAVAILABLE")
      #expect(fixture.submitter.messages.isEmpty)
    }
  }
}
