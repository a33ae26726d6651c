import CountersignEncoding
import CountersignMessages
import ServiceRuntime
import Synchronization
import Testing

@testable import CommandLine

@Suite struct OperationCommandTests {
  /// Combined answer to all three commands: each takes the fields that it knows.
  private static func reply(state: String, event: String, failure: JSONValue? = nil) -> JSONValue {
    var fields: [String: JSONValue] = [
      "receipt": .text("r1"), "suggestedTimeout": .integer(1), "operationID": .text("o1"),
      "kind": .text("apple.revoke"), "app": .text("com.example.app"), "state": .text(state),
      "startedAt": .text("2026-07-01T12:00:00Z"), "expiresAt": .text("2026-07-01T13:00:00Z"), "repeated": .bool(true),
      "timeline": .array([
        .object(["at": .text("2026-07-01T12:00:00Z"), "event": .text("started")]),
        .object([
          "at": .text("2026-07-01T12:00:00.25Z"), "event": .text(event), "worker": .text("push-worker-1"),
          "lane": .text("apns"), "reason": .text("WHY"), "reference": .text("ref"), "attempts": .integer(2),
        ]),
      ]),
    ]
    if state == "completed" { fields["ending"] = .text("REVOKED_AND_NOTIFIED") }
    fields["failure"] = failure
    return .object(fields)
  }

  @Test func `App verify says what became of the push`() async {
    let backend = FakeBackend(reply: .success(Self.reply(state: "running", event: "push.accepted")))
    let run = await Run(backend, "app", "verify", "00ff", "--app", "a", "--environment", "sandbox", "--ip", "192.0.2.1")
    #expect(run.code == .success)
    #expect(run.output.contains("receipt    r1\nfall back  to reCAPTCHA after 1 s without a push"))
    #expect(run.output.contains("push-worker-1  push.accepted  apns  WHY, reference ref, 2 attempts"))
    let sent = backend.sent.withLock { $0 }
    #expect(sent.map { $0.split(separator: " ")[0] } == ["app.verify.v1", "operation.status.v1"])
    for part in [#""deviceToken":"00ff""#, #""environment":"sandbox""#, #""ip":"192.0.2.1""#, #""app":"a""#] {
      #expect(sent.first?.contains(part) == true, "\(part)")
    }
    #expect(sent.last?.contains(#""operationID":"r1""#) == true)
  }

  @Test func `A push that failed is a failure`() async {
    let failed = Self.reply(state: "failed", event: "push.refused", failure: .object(["code": .text("WRONG_TOPIC")]))
    let run = await Run(FakeBackend(reply: .success(failed)), "app", "verify", "00ff", "--json")
    #expect(run.code == .failure)
    #expect(run.output.contains(#""receipt":"r1""#))
    #expect(run.output.contains(#""code":"WRONG_TOPIC""#))
  }

  @Test func `Without waiting nothing is asked for`() async {
    let backend = FakeBackend(reply: .success(Self.reply(state: "running", event: "push.queued")))
    let run = await Run(backend, "app", "verify", "00ff", "--no-wait", "--json")
    #expect(run.output == #"{"receipt":"r1","suggestedTimeout":1}"# + "\n")
    #expect(backend.sent.withLock { $0.count } == 1)
  }

  @Test func `The watch looks until its time is over`() async throws {
    let backend = FakeBackend(reply: .success(Self.reply(state: "running", event: "push.queued")))
    var watch = OperationWatch(backend: backend)
    watch.pause = { _ in }
    let status = try await watch.wait(for: "r1", within: .seconds(2), timeout: .seconds(1)) { $0.state != .running }
    #expect(status.state == .running)
    #expect(backend.sent.withLock { $0.count } == 5)
  }

  @Test(
    arguments: [
      ("--code", "authorizationCode"), ("--refresh-token", "refreshToken"), ("--access-token", "accessToken"),
    ])
  func `Revoke sends one token`(option: String, field: String) async {
    let backend = FakeBackend(reply: .success(Self.reply(state: "completed", event: "revoke.accepted")))
    let run = await Run(
      backend, input: " t\n", "revoke", option, "-", "--client-id", "c", "--redirect-uri", "https://example.com/",
      "--notify", "a@b", "--language", "fr", "--template", "x")
    #expect(run.code == .success)
    #expect(run.output.contains("operation ID  o1\nthe token was submitted before"))
    #expect(run.output.contains("completed (REVOKED_AND_NOTIFIED): apple.revoke for com.example.app"))
    let sent = backend.sent.withLock { $0.first } ?? ""
    for part in [
      #""\#(field)":"t""#, #""clientID":"c""#, #""redirectURI":"https://example.com/""#, #""email":"a@b""#,
      #""languageCode":"fr""#, #""template":"x""#,
    ] {
      #expect(sent.contains(part), "\(part)")
    }
  }

  @Test func `A revocation without its notice is a failure`() async {
    let reply = Self.reply(
      state: "completed", event: "notice.refused",
      failure: .object(["code": .text("SENDER_NOT_REGISTERED"), "detail": .text("not registered")]))
    let run = await Run(FakeBackend(reply: .success(reply)), "revoke", "--refresh-token", "t")
    #expect(run.code == .failure)
    #expect(run.output.contains("why: SENDER_NOT_REGISTERED (not registered)"))
  }

  @Test func `Status shows the timeline`() async {
    let backend = FakeBackend(reply: .success(Self.reply(state: "running", event: "push.accepted")))
    let run = await Run(backend, "operation", "status", "o1")
    #expect(run.output.contains("running: apple.revoke for com.example.app, until 2026-07-01T13:00:00Z"))
    #expect(run.output.contains("2026-07-01T12:00:00.000Z  coordinator    started"))
  }

  @Test(
    arguments: [
      ["--receipt", "r", "--secret", "s"], ["--recaptcha-token", "t"], ["--recaptcha-token", "t", "--receipt", "r"],
    ])
  func `Start carries the proof`(options: [String]) async {
    let backend = FakeBackend(reply: .success(VerifyCommandTests.started))
    let run = await Run(backend, arguments: ["verify", "start", "+14155550123"] + options)
    #expect(run.code == .success)
    let sent = backend.sent.withLock { $0.first } ?? ""
    let fields = ["--receipt": "receipt", "--secret": "secret", "--recaptcha-token": "recaptchaToken"]
    for index in stride(from: 0, to: options.count, by: 2) {
      #expect(sent.contains(#""\#(fields[options[index]] ?? "")":"\#(options[index + 1])""#))
    }
    #expect(sent.hasSuffix(options.contains("--recaptcha-token") ? "20.0 seconds" : "10.0 seconds"))
  }

  @Test(
    arguments: [
      ["verify", "start", "+1", "--receipt", "r"], ["verify", "start", "+1", "--secret", "s"],
      ["verify", "start", "+1", "--secret", "s", "--recaptcha-token", "t"], ["revoke"],
      ["revoke", "--code", "a", "--refresh-token", "b"], ["revoke", "--code", "a", "--language", "fr"],
      ["app", "verify"], ["app", "verify", "00ff", "--environment", "sandbx"], ["operation", "status"],
    ])
  func `Wrong arguments are said so`(arguments: [String]) async {
    let backend = FakeBackend()
    let run = await Run(backend, arguments: arguments)
    #expect(run.code == .usage)
    #expect(backend.sent.withLock { $0.isEmpty })
  }
}
