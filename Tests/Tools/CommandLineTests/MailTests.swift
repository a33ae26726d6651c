import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import Mail
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import CommandLine

private struct MailFixture {
  let directory: String
  var file: String { directory + "/mail-worker.json5" }

  static let publicKey = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="

  static func with(
    envelope: String = "bounces@example.com", registered: String = #""example.com""#,
    _ body: (MailFixture) async throws -> Void
  ) async throws {
    let directory = FileManager.default.temporaryDirectory.path + "/mail-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try Data(SampleKeys.ed25519.utf8).write(to: URL(filePath: directory + "/key.pem"))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: directory + "/key.pem")
    let text = """
      {allowNoKeys: true, broker: {url: "amqp://a:b@localhost/"}, templates: {directory: "\(Repository.config)/templates/mail", appName: "Example"},
       providersDirectory: "\(Repository.config)/providers", relay: {registeredSources: [\(registered)]},
       senders: [{from: "hello@example.com", envelopeFrom: "\(envelope)", keys: [{selector: "ed", keyFile: "key.pem"}]}],
       lanes: [{name: "a", host: "127.0.0.1", port: 1, security: "none"}]}
      """
    let fixture = MailFixture(directory: directory)
    try Data(text.utf8).write(to: URL(filePath: fixture.file))
    try await body(fixture)
  }

  func findings(_ records: [String: [String]]) async throws -> [String: Finding.Status] {
    let configuration = try MailWorkerConfiguration.load(file: file, environment: [:]).content
    let check = MailCheck { (name) throws(TextRecords.Failure) in records[name] ?? [] }
    return Dictionary(
      await check.findings(configuration).map { (String($0.check.prefix { $0 != " " }), $0.status) },
      uniquingKeysWith: { first, _ in first })
  }
}

@Suite struct MailDoctorTests {
  static let good = [
    "example.com": ["other", "v=spf1 include:_spf.example.net -all"],
    "ed._domainkey.example.com": ["v=DKIM1; k=ed25519; p=\(MailFixture.publicKey)"],
    "_dmarc.example.com": ["v=DMARC1; p=reject; adkim=s; aspf=s"],
  ]

  @Test func `A healthy mail set up passes all checks`() async throws {
    try await MailFixture.with { fixture in
      let findings = try await fixture.findings(Self.good)
      #expect(findings == ["Apple's": .ok, "SPF": .ok, "DKIM": .ok, "DMARC": .ok])
    }
  }

  @Test(
    arguments: [
      ("example.com", [], "SPF", Finding.Status.failed),
      ("example.com", ["v=spf1 -all", "v=spf1 ~all"], "SPF", .failed),
      ("example.com", ["v=spf1 +all"], "SPF", .failed), ("example.com", ["v=spf1 -all"], "SPF", .warning),
      ("example.com", ["v=spf1 mx"], "SPF", .warning),
      ("example.com", ["v=spf1 include:_spf.example.net ?all"], "SPF", .warning),
      ("example.com", ["v=spf1 " + String(repeating: "include:a.example ", count: 11) + "-all"], "SPF", .failed),
      ("ed._domainkey.example.com", [], "DKIM", .failed),
      ("ed._domainkey.example.com", ["v=DKIM1; p="], "DKIM", .failed),
      ("ed._domainkey.example.com", ["v=DKIM1; k=rsa; p=\(MailFixture.publicKey)"], "DKIM", .failed),
      ("ed._domainkey.example.com", ["v=DKIM1; k=ed25519; t=y; p=\(MailFixture.publicKey)"], "DKIM", .warning),
      ("ed._domainkey.example.com", ["k=ed25519; p=AAAA"], "DKIM", .failed),
      ("_dmarc.example.com", [], "DMARC", .warning),
      ("_dmarc.example.com", ["v=DMARC1; x=y"], "DMARC", .failed),
    ] as [(String, [String], String, Finding.Status)])
  func `Faults are reported`(name: String, records: [String], check: String, status: Finding.Status) async throws {
    try await MailFixture.with { fixture in
      var all = Self.good
      all[name] = records
      let found = try await fixture.findings(all)
      #expect(found[check] == status)
    }
  }

  @Test func `Look ups of what is included count`() async throws {
    try await MailFixture.with { fixture in
      var all = Self.good
      all["example.com"] = ["v=spf1 include:a.example include:b.example -all"]
      all["a.example"] = ["v=spf1 a mx exists:c.example redirect=d.example"]
      all["b.example"] = ["v=spf1 include:a.example ~all"]
      all["d.example"] = ["v=spf1 ip4:192.0.2.1 -all"]
      // 2 of its own, 4 of a.example, 1 and again 4 of b.example: 11.
      var found = try await fixture.findings(all)
      #expect(found["SPF"] == .failed)
      all["b.example"] = ["v=spf1 ip4:192.0.2.0/24 ~all"]
      found = try await fixture.findings(all)
      #expect(found["SPF"] == .ok)
      all["b.example"] = ["v=spf1 include:b.example include:example.com ~all"]
      found = try await fixture.findings(all)
      #expect(found["SPF"] == .ok)
    }
  }

  @Test func `The relay wants the senders registered`() async throws {
    try await MailFixture.with(registered: #""other.example""#) { fixture in
      let found = try await fixture.findings(Self.good)
      #expect(found["Apple's"] == .failed)
    }
    try await MailFixture.with(envelope: "b@bounce.example.com") { fixture in
      let found = try await fixture.findings(Self.good)
      #expect(found["Apple's"] == .failed)
    }
  }
}

@Suite struct MailCommandTests {
  @Test func `Sending makes a mail job`() async throws {
    let backend = FakeBackend()
    _ = await Run(
      backend, "mail", "send", "ada@example.com", "--template", "address-verification", "--language", "fr", "--code",
      "123456", "--variable", "plan=Gold",
      "--id", "m1")
    let job = try #require(backend.jobs.withLock { $0.first })
    #expect(job.type == MailRelayJob.type && job.messageID == "m1")
    let body = try MailRelayJob(json: job.body)
    #expect(body.to == "ada@example.com")
    guard case .template(let name, let language, let variables) = body.content else { throw CancellationError() }
    #expect(name == "address-verification" && language == "fr" && variables.code != nil)
    #expect(variables.custom == ["plan": "Gold"])
    #expect(body.deadline.rfc3339 == "2026-07-01T12:10:00Z")
  }

  @Test func `Send needs something to say`() async {
    let run = await Run(FakeBackend(), "mail", "send", "ada@example.com")
    #expect(run.code == .usage)
    #expect(run.error.contains("--template"))
  }

  @Test func `Preview writes the signed mail`() async throws {
    try await MailFixture.with { fixture in
      let output = fixture.directory + "/mail.eml"
      let run = await Run(
        FakeBackend(), "mail", "preview", "ada@example.org", "--template", "sign-in-link", "--link",
        "https://example.com/l",
        "--worker-config", fixture.file, "--output", output, "--id", "m1")
      #expect(run.code == .success, "\(run.error)")
      let text = String(decoding: try Data(contentsOf: URL(filePath: output)), as: UTF8.self)
      #expect(text.hasPrefix("DKIM-Signature: ") && text.contains(/Message-ID: <[0-9a-f]{32}@example\.com>/))
      let refused = await Run(
        FakeBackend(), "mail", "preview", "ada@example.org", "--template", "sign-in-link", "--worker-config",
        fixture.file)
      #expect(refused.code == .failure)
      #expect(refused.error.contains("MISSING_VARIABLE"))
    }
  }

  /// It checks what the worker checks: an address of unsubscription cannot add a field, and the relay would drop what
  /// it drops.
  @Test(
    arguments: [
      ("ada@example.org", "https://example.com/\r\nBcc: eve@example.org", "INVALID_UNSUBSCRIBE_URL"),
      ("ada@example.org", "javascript:alert(1)", "INVALID_UNSUBSCRIBE_URL"),
      ("ada@example.org", "https://example.com/" + String(repeating: "x", count: 1_000), "INVALID_UNSUBSCRIBE_URL"),
      ("ada@privaterelay.appleid.com", "https://example.com/u", "SENDER_NOT_REGISTERED"),
    ])
  func `Preview refuses what the worker refuses`(to: String, unsubscribe: String, reason: String) async throws {
    try await MailFixture.with(registered: #""other.example""#) { fixture in
      let run = await Run(
        FakeBackend(), "mail", "preview", to, "--template", "sign-in-link", "--link", "https://example.com/l",
        "--unsubscribe", unsubscribe, "--worker-config", fixture.file)
      #expect(run.code == .failure)
      #expect(run.error.contains(reason), "\(run.error)")
      #expect(!run.output.contains("Bcc"))
    }
  }

  @Test func `The suppressions of another file are added, and those that are there stay`() async throws {
    try await MailFixture.with { fixture in
      func entry(_ address: String, job: String) -> Suppression {
        Suppression(
          address: address, since: .init(seconds: 1_782_907_200), reason: "RECIPIENT_GONE", providerCode: nil,
          jobID: job)
      }
      for (file, entries) in [
        ("old.sqlite", [entry("ada@example.org", job: "old"), entry("bob@example.org", job: "old")]),
        ("mail-suppressions.sqlite", [entry("ada@example.org", job: "new")]),
      ] {
        let list = try await SuppressionList.open(path: fixture.directory + "/" + file)
        for entry in entries { try await list.add(entry) }
        await list.close()
      }
      let command = [
        "mail", "suppressions", "copy", fixture.directory + "/old.sqlite", "--worker-config", fixture.file,
      ]
      for _ in 0..<2 { #expect(await Run(FakeBackend(), arguments: command).code == .success) }
      let list = try await SuppressionList.open(path: fixture.directory + "/mail-suppressions.sqlite")
      let jobs = try await list.entries(limit: 9).map { "\($0.address) \($0.jobID)" }
      await list.close()
      #expect(jobs.sorted() == ["ada@example.org new", "bob@example.org old"])
      let absent = ["mail", "suppressions", "copy", fixture.directory + "/no.sqlite", "--worker-config", fixture.file]
      #expect(await Run(FakeBackend(), arguments: absent).code == .noInput)
      #expect(!FileManager.default.fileExists(atPath: fixture.directory + "/no.sqlite"))
    }
  }

  @Test func `The suppression list is shown and lifted`() async throws {
    try await MailFixture.with { fixture in
      let options = ["--worker-config", fixture.file]
      #expect(
        await Run(FakeBackend(), "mail", "suppressions", "list", options[0], options[1]).output.contains(
          "the list is empty"))
      let list = try await SuppressionList.open(path: fixture.directory + "/mail-suppressions.sqlite")
      let entry = Suppression(
        address: "ada@example.org", since: .init(seconds: 1_782_907_200), reason: "RECIPIENT_GONE",
        providerCode: "550 5.1.1",
        jobID: "j1")
      try await list.add(entry)
      await list.close()
      let shown = await Run(FakeBackend(), "mail", "suppressions", "list", options[0], options[1])
      #expect(shown.output.contains("ada@example.org") && shown.output.contains("550 5.1.1"))
      let backend = FakeBackend()
      let lifted = await Run(backend, "mail", "suppressions", "lift", "ADA@example.org", options[0], options[1])
      #expect(lifted.code == .success)
      #expect(backend.noted.withLock { $0 } == [NoteAct(act: "mail.suppressions.lift", subject: "example.org")])
      let again = await Run(FakeBackend(), "mail", "suppressions", "lift", "ada@example.org", options[0], options[1])
      #expect(again.code == .failure)
    }
  }
}
