import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Coordination

@Suite struct RevocationServiceTests {
  let bench: Bench

  init() async throws { bench = try await Bench() }

  private static let email = "abc@privaterelay.appleid.com"

  private func command(
    _ kind: AppleToken.Kind = .refreshToken, _ token: String = "very-secret-token", notify: Bool = true
  ) -> StartRevocation {
    StartRevocation(
      app: Bench.app, clientID: "com.example.web", token: AppleToken(kind, SecretField(Secret(token))),
      redirectURI: "https://example.com/",
      notify: notify ? StartRevocation.Notice(email: Self.email, languageCode: "fr") : nil)
  }

  @Test(arguments: AppleToken.Kind.allCases)
  func `Revoke, tell, complete`(kind: AppleToken.Kind) async throws {
    let started = try await bench.reply(to: command(kind))
    let id = started.operationID
    #expect(!started.repeated)
    #expect(try bench.event(OperationStarted.self) == started)
    let job = try #require(try bench.published(AppleRevokeJob.self).first)
    #expect(job.id == "\(id).revoke.1")
    #expect(job.job.clientID == "com.example.web")
    #expect(job.job.redirectURI == "https://example.com/")
    #expect(job.job.token.kind == kind)
    #expect(job.job.token.secret.isSealed)
    let context = SealContext(messageType: AppleRevokeJob.type, messageID: job.id, recipient: Bench.app)
    #expect(try job.job.token.secret.open(with: bench.keys, for: context).reveal() == "very-secret-token")
    _ = bench.sink.takePublished()
    try await bench.finish(AppleRevokeJob.self, "\(id).revoke.1", .accepted, extras: ["stage": "revoked"])
    let mail = try #require(try bench.published(MailRelayJob.self).first)
    #expect(mail.id == "\(id).notice.1")
    #expect(mail.job.to == Self.email)
    #expect(
      mail.job.content
        == .template(name: "revocation-notice", languageCode: "fr", variables: .init(appName: "Example")))
    try await bench.finish(MailRelayJob.self, "\(id).notice.1", .accepted)
    let event = try #require(try bench.event(OperationCompleted.self))
    #expect(event.ending == .revokedAndNotified)
    let status = try await bench.operation(id)
    #expect(status.kind == .appleRevocation)
    #expect(status.state == .completed)
    #expect(status.ending == .revokedAndNotified)
    #expect(
      status.timeline.map(\.event) == [
        "started", "revoke.queued", "revoke.accepted", "notice.queued", "notice.accepted", "completed",
      ])
    #expect(
      bench.registry.render().contains(
        #"countersign_operations_total{kind="apple.revoke",ending="REVOKED_AND_NOTIFIED"} 1"#))
  }

  @Test func `A revocation that fails sends no mail, and says why`() async throws {
    let id = try await bench.reply(to: command(.authorizationCode)).operationID
    try await bench.finish(AppleRevokeJob.self, "\(id).revoke.1", .unknown, reason: "LOST")
    let event = try #require(try bench.event(OperationFailed.self))
    #expect(event.ending == .lost)
    #expect(event.failure == .init(code: "LOST", detail: "because"))
    #expect(try bench.published(MailRelayJob.self).isEmpty)
  }

  @Test func `The event names all that the user has to do`() async throws {
    let id = try await bench.reply(to: command()).operationID
    let detail = String(repeating: "do this and that ", count: 50)
    let result = JobResult(
      jobID: "\(id).revoke.1", outcome: .refused, reason: .init(code: "INVALID_GRANT", detail: detail), attempts: 1,
      startedAt: bench.clock.now(), finishedAt: bench.clock.now())
    let envelope = Envelope(
      type: JobResult.type(ofJob: AppleRevokeJob.type), messageID: "\(id).revoke.1.result", correlationID: id)
    await bench.deliverResults([envelope.message(body: try result.json())])
    #expect(try await bench.operation(id).failure?.detail == detail)
  }

  @Test func `A notice that is refused leaves a revocation that is done`() async throws {
    let id = try await bench.reply(to: command()).operationID
    try await bench.finish(AppleRevokeJob.self, "\(id).revoke.1", .accepted)
    try await bench.finish(MailRelayJob.self, "\(id).notice.1", .refused, reason: "SENDER_NOT_REGISTERED")
    let event = try #require(try bench.event(OperationCompleted.self))
    #expect(event.ending == .revokedNoticeRefused)
    #expect(event.failure?.code == "SENDER_NOT_REGISTERED")
  }

  @Test func `The same token is one operation, until it has failed`() async throws {
    let first = try await bench.reply(to: command(notify: false))
    let second = try await bench.reply(to: command(.accessToken, notify: false))
    #expect(second.operationID == first.operationID)
    #expect(second.repeated)
    #expect(try bench.published(AppleRevokeJob.self).isEmpty)
    let other = try await bench.reply(to: command(.refreshToken, "another"))
    #expect(other.operationID != first.operationID)
    await bench.deliverResults([
      try bench.report(AppleRevokeJob.self, "\(first.operationID).revoke.1", .accepted),
      try bench.report(AppleRevokeJob.self, "\(other.operationID).revoke.1", .refused, reason: "INVALID_GRANT"),
    ])
    #expect(try await bench.reply(to: command()).operationID == first.operationID)
    let anew = try await bench.reply(to: command(.refreshToken, "another"))
    #expect(anew.operationID != other.operationID)
    #expect(try bench.published(AppleRevokeJob.self).count == 1)
  }

  @Test func `A code of one subject is another request than that of another, and of none`() async throws {
    func code(of subject: String?) -> StartRevocation {
      var command = command(.authorizationCode, notify: false)
      command.subject = subject
      return command
    }
    let first = try await bench.reply(to: code(of: "001.a"))
    #expect(try bench.published(AppleRevokeJob.self).map(\.job.subject) == ["001.a"])
    #expect(try await bench.reply(to: code(of: "001.a")).operationID == first.operationID)
    for subject in ["001.b", nil] {
      #expect(try await bench.reply(to: code(of: subject)).operationID != first.operationID)
    }
    try await bench.finish(
      AppleRevokeJob.self, "\(first.operationID).revoke.1", .accepted, extras: ["subject": "001.a"])
    #expect(try bench.event(OperationCompleted.self)?.ending == .revoked)
    // The subject is the job's alone.
    let held = try await bench.dump("revocation") + bench.dump("inbox")
    #expect(!held.contains("001."))
  }

  @Test func `A code of another subject stays one operation after its refusal`() async throws {
    var command = command(.authorizationCode, notify: false)
    command.subject = "001.a"
    let id = try await bench.reply(to: command).operationID
    try await bench.finish(AppleRevokeJob.self, "\(id).revoke.1", .refused, reason: "SUBJECT_MISMATCH")
    #expect(try bench.event(OperationFailed.self)?.failure.code == "SUBJECT_MISMATCH")
    #expect(try await bench.reply(to: command).operationID == id)
  }

  @Test func `A subject is taken with a code only`() async throws {
    var command = command(.refreshToken)
    command.subject = "001.a"
    #expect(try await bench.error(command).field == "subject")
  }

  @Test func `A command that comes again is answered the same, with one job`() async throws {
    let message = try bench.message(command(), id: "m")
    await bench.deliver([message, message])
    await bench.deliver([message])
    #expect(Set(bench.replies.map(\.body)).count == 1)
    #expect(try bench.published(AppleRevokeJob.self).count == 1)
  }

  @Test func `The token is never stored in the clear, and the address no longer than it is needed`() async throws {
    let id = try await bench.reply(to: command()).operationID
    for table in ["revocation", "outbox", "inbox"] {
      let stored = try await bench.dump(table)
      #expect(!stored.contains("very-secret-token"), "\(table)")
    }
    try await bench.finish(AppleRevokeJob.self, "\(id).revoke.1", .accepted)
    let stored = try await bench.dump("revocation")
    #expect(!stored.contains(Self.email))
  }

  @Test func `Killed after any commit: what was to be published is published by the next start`() async throws {
    func restarted(_ body: () async throws -> Void) async throws {
      bench.sink.close()
      try await body()
      bench.sink.open()
      _ = bench.sink.takePublished()
      try await bench.takeOver()
      _ = try await bench.relay()
    }
    try await restarted { await bench.deliver([try bench.message(command(), id: "m")]) }
    let job = try #require(try bench.published(AppleRevokeJob.self).first?.id)
    let revoked = try bench.report(AppleRevokeJob.self, job, .accepted)
    try await restarted { await bench.deliverResults([revoked]) }
    let mail = try #require(try bench.published(MailRelayJob.self).first?.id)
    await bench.deliverResults([revoked])
    #expect(try bench.published(MailRelayJob.self).count == 1)
    try await restarted { try await bench.finish(MailRelayJob.self, mail, .unknown) }
    #expect(try bench.event(OperationCompleted.self)?.ending == .revokedNoticeUnknown)
  }

  @Test func `Operations without a report are given up by the maintenance and deleted`() async throws {
    let id = try await bench.reply(to: command()).operationID
    bench.clock.advance(by: .seconds(3 * 3600))
    _ = try await bench.sweep()
    _ = try await bench.relay()
    #expect(try bench.event(OperationFailed.self)?.ending == .unknown)
    #expect(try await bench.operation(id).failure?.code == "NO_REPORT")
    bench.clock.advance(by: .seconds(30 * 86_400))
    _ = try await bench.sweep()
    #expect(try await bench.count("revocation") == 0)
  }

  @Test func `A token may be sealed for its command`() async throws {
    let context = SealContext(messageType: StartRevocation.type, messageID: "m", recipient: Bench.app)
    var sealed = command()
    sealed.token = .refreshToken(try Sealer(keys: bench.keys).seal(Secret("t"), for: context))
    #expect(try await bench.ask(sealed, id: "n").type == "error.v1")
    #expect(try await bench.ask(sealed, id: "m").type == "operation.started.v1")
  }

  @Test(
    arguments: [
      ("com.example.app", "", "a@b", "refreshToken"),
      ("com.example.app", String(repeating: "t", count: 16_385), "a@b", "refreshToken"),
      ("nobody", "t", "a@b", "app"), ("", "t", "a@b", "app"),
      ("com.example.app", "t", "a", "notify.email"), ("com.example.app", "t", "a@b\r\nBcc: c@d", "notify.email"),
      ("com.example.app", "t", "A <a@b>", "notify.email"), ("com.example.app", "t", "@b", "notify.email"),
    ])
  func `Commands that cannot be carried out are refused`(app: String, token: String, email: String, field: String)
    async throws
  {
    let command = StartRevocation(
      app: app, token: .refreshToken(SecretField(Secret(token))), notify: .init(email: email))
    #expect(try await bench.error(command).field == field)
    #expect(try await bench.count("revocation") == 0)
  }

  @Test func `Values that do not fit into a job are refused`() async throws {
    var tooLong = command()
    tooLong.clientID = String(repeating: "c", count: 256)
    #expect(try await bench.error(tooLong).field == "clientID")
    tooLong = command()
    tooLong.redirectURI = String(repeating: "r", count: 2049)
    #expect(try await bench.error(tooLong).field == "redirectURI")
    tooLong = command()
    tooLong.notify?.template = String(repeating: "t", count: 65)
    #expect(try await bench.error(tooLong).field == "notify.template")
  }

  @Test func `Results of other services' jobs are none of the coordinator's business`() async throws {
    let source = await bench.deliverResults([
      try bench.report(AppleRevokeJob.self, "somebody-elses", .accepted),
      try bench.report(MailRelayJob.self, "nothing.notice.1", .accepted),
      try bench.report(PushVerifyJob.self, "nothing.push.1", .accepted),
      try bench.report(RecaptchaAssessJob.self, "nothing.captcha.1", .accepted),
    ])
    #expect(source.ackedCount == 4)
    #expect(bench.sink.published.isEmpty)
  }

  @Test func `Accounts alone confirms one, and its timeline shows it`() async throws {
    let id = try await bench.reply(to: command(notify: false)).operationID
    try await bench.finish(AppleRevokeJob.self, "\(id).revoke.1", .accepted)
    let confirm = ConfirmRevocation(operationID: id, confirmedAt: bench.clock.now())
    for user in ["operator", "gateway", "service"] {
      let error = try ErrorReply(json: try await bench.ask(confirm, user: user).body).error
      #expect(error.code == .operationNotAllowed)
    }
    #expect(try await bench.operation(id).timeline.map(\.event).last == "completed")
    for _ in 0..<2 {
      let status = try OperationStatus(json: try await bench.ask(confirm, user: Topology.Users.accounts).body)
      #expect(status.timeline.map(\.event).suffix(2) == ["completed", "revoke.confirmed"])
      #expect(status.state == .completed && status.ending == .revoked)
    }
    let unknown = ConfirmRevocation(operationID: "o", confirmedAt: bench.clock.now())
    #expect(try await bench.error(unknown, user: Topology.Users.accounts).field == "operationID")
  }
}
