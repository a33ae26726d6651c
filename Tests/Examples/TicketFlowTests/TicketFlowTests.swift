import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime
import TestSupport
import Testing

@Suite("The worked example of docs/adding-a-flow.md", .timeLimit(.minutes(10)))
struct TicketFlowTests {
  private func result(of job: Publication, _ outcome: JobOutcome, user: String = "mail-worker") throws -> Delivery {
    let id = try #require(job.message.messageID)
    let body = JobResult(
      jobID: id, outcome: outcome, attempts: 1, startedAt: UnixTime(seconds: 0), finishedAt: UnixTime(seconds: 1))
    var envelope = Envelope(
      type: JobResult.type(ofJob: MailRelayJob.type), messageID: JobResult.messageID(jobID: id), userID: user)
    envelope.statedSender = TicketService.author.userID
    return Delivery(
      message: envelope.message(body: try body.json()), exchange: Topology.Exchanges.results,
      routingKey: "mail.relay.\(outcome.rawValue)")
  }

  private func reply(
    _ body: some MessageBody, to command: Publication, user: String = Topology.Users.coordinator
  ) throws -> Delivery {
    let id = try #require(command.message.messageID)
    var envelope = Envelope(
      type: type(of: body).type, messageID: id + ".reply", correlationID: command.message.correlationID, userID: user)
    envelope.causationID = id
    return Delivery(
      message: envelope.message(body: try body.json()), routingKey: try #require(command.message.replyTo))
  }

  private static let started = VerificationStarted(
    verificationID: "v1", app: TicketService.app, phoneNumber: "+14155550123", codeLength: 6,
    expiresAt: UnixTime(seconds: 1_782_907_500), resendAfter: 60, resent: false, testNumber: false)

  @Test func `A visit counts once for a message, across processes, and a day after the last one it is forgotten`()
    async throws
  {
    try await TicketService.several { start in
      func visits(_ id: String, _ service: TicketService) async throws -> Int {
        try VisitAdded(json: try await service.ask(service.message(AddVisit(page: "home"), id: id)).body).visits
      }
      let first = try await start()
      #expect(try await visits("a", first) == 1)
      #expect(try await visits("a", first) == 1)
      await first.die()
      let service = try await start()
      #expect(try await visits("a", service) == 1)
      #expect(try await visits("b", service) == 2)
      #expect(try await service.refusal(AddVisit(page: "two words")) == .invalidArgument)
      service.clock.advance(by: .seconds(86_400))
      await service.maintenance.tidy()
      #expect(try await visits("c", service) == 1)
      await service.die()
    }
  }

  // MARK: Opening

  @Test func `A ticket is opened once, its mail goes out after the reply, and a redelivered command is answered alike`()
    async throws
  {
    try await TicketService.with { service in
      let command = OpenTicket(app: TicketService.app, holder: "holder@example.com", pin: "1234")
      let message = try service.message(command, id: "m")
      await service.deliver(message)
      #expect(service.sink.published.map(\.routingKey) == ["amq.gen-replies", "mail.relay"])
      let reply = try #require(service.replies.first)
      await service.deliver(message)
      #expect(service.replies.map(\.body) == [reply.body, reply.body])
      #expect(service.published(on: Topology.Exchanges.jobs).count == 1)
      // Another command for the same holder finds the same ticket.
      #expect(try await service.open() == TicketOpened(json: reply.body).ticketID)
      #expect(service.registry.render().contains("tickets_opened_total 1\n"))
      #expect(try await service.refusal(OpenTicket(app: "a", holder: "nobody", pin: "1")) == .invalidArgument)
    }
  }

  @Test func `Killed before the reply: the next process answers the command alike, and then sends the mail`()
    async throws
  {
    try await TicketService.several { start in
      let first = try await start()
      let message = try first.message(
        OpenTicket(app: TicketService.app, holder: "holder@example.com", pin: "1234"), id: "m")
      first.sink.close()
      #expect(await first.deliver(message).ackedCount == 0)
      await first.die()
      let second = try await start()
      second.sink.open()
      await second.maintenance.publishLeftovers()
      #expect(second.sink.published.isEmpty, "the mail waits for the reply")
      await second.deliver(message)
      #expect(second.sink.published.map(\.routingKey) == ["amq.gen-replies", "mail.relay"])
      await second.die()
    }
  }

  @Test func `The worker's result is believed from the worker alone, and shown`() async throws {
    try await TicketService.with { service in
      let id = try await service.open()
      let job = try #require(service.published(on: Topology.Exchanges.jobs).first)
      await service.report(try result(of: job, .refused, user: "sms-worker"))
      #expect(service.published(on: Topology.Exchanges.dead).count == 1)
      #expect(try await service.status(id).failure == nil)
      await service.report(try result(of: job, .refused))
      let status = try await service.status(id)
      #expect(status.state == .running && status.failure?.code == "MAIL_REFUSED")
    }
  }

  @Test func `A mail that no worker takes in time is told to its ticket`() async throws {
    try await TicketService.with { service in
      service.sink.answer { $0.exchange == Topology.Exchanges.jobs ? .nacked : .confirmed }
      let id = try await service.open()
      service.clock.advance(by: .seconds(600))
      await service.maintenance.publishLeftovers()
      #expect(try await service.status(id).failure?.code == "MAIL_EXPIRED")
    }
  }

  // MARK: Another service

  @Test func `A command waits for another service, and is answered when that has answered`() async throws {
    try await TicketService.several { start in
      let first = try await start()
      let id = try await first.open()
      let verify = VerifyTicket(ticketID: id, phoneNumber: "+14155550123")
      #expect(try await first.send(verify, id: "v") == nil)
      let command = try #require(first.published(on: Topology.Exchanges.commands).first)
      #expect(command.message.type == "verification.start.v1")
      #expect(command.message.replyTo == Topology.Queues.accountsReplies)
      // The wait outlives the process, and the command that arrives again meanwhile.
      await first.die()
      let service = try await start()
      #expect(try await service.send(verify, id: "v") == nil)
      #expect(service.published(on: Topology.Exchanges.commands).isEmpty)
      await service.report(try reply(Self.started, to: command, user: "gateway"))
      #expect(service.replies.isEmpty, "forged")
      await service.report(try reply(Self.started, to: command))
      let answer = try #require(service.replies.first)
      #expect(try TicketVerifying(json: answer.body).verificationID == "v1")
      #expect(answer.correlationID == "c1", "that of the newest arrival")
      await service.report(try reply(Self.started, to: command))
      #expect(service.sink.published.isEmpty)
      #expect(try await service.ask(verify, id: "v").body == answer.body)
    }
  }

  @Test func `A refusal of the other service is passed on`() async throws {
    try await TicketService.with { service in
      let id = try await service.open()
      _ = try await service.send(VerifyTicket(ticketID: id, phoneNumber: "1"))
      let command = try #require(service.published(on: Topology.Exchanges.commands).first)
      await service.report(try reply(ErrorReply(APIError(.invalidPhoneNumber, "is none")), to: command))
      #expect(try service.replies.map { try ErrorReply(json: $0.body).error.code } == [.invalidPhoneNumber])
    }
  }

  @Test func `A reply that never comes is a due record`() async throws {
    try await TicketService.with { service in
      let id = try await service.open()
      _ = try await service.send(VerifyTicket(ticketID: id, phoneNumber: "+14155550123"))
      let command = try #require(service.published(on: Topology.Exchanges.commands).first)
      service.clock.advance(by: .seconds(30))
      _ = service.sink.takePublished()
      await service.maintenance.tidy()
      await service.maintenance.publishLeftovers()
      #expect(try service.replies.map { try ErrorReply(json: $0.body).error.code } == [.internalError])
      await service.report(try reply(Self.started, to: command))
      #expect(service.sink.published.isEmpty, "too late")
      #expect(try await service.status(id).state == .running)
    }
  }

  // MARK: Secrets

  @Test func `A key is answered alike, and only operators get one`() async throws {
    try await TicketService.with { service in
      let command = IssueTicketKey(ticketID: try await service.open())
      #expect(try await service.refusal(command) == .operationNotAllowed)
      func key(_ id: String) async throws -> String {
        try TicketKey(json: try await service.ask(command, id: id, user: "desk").body).key
      }
      let first = try await key("k")
      #expect(try await key("k") == first)
      #expect(try await key("l") != first)
    }
  }

  @Test func `A ticket is closed with its PIN; few wrong ones are allowed`() async throws {
    try await TicketService.with { service in
      let id = try await service.open()
      for _ in 0..<5 { #expect(try await service.refusal(CloseTicket(ticketID: id, pin: "0000")) == .invalidCode) }
      #expect(try await service.refusal(CloseTicket(ticketID: id, pin: "1234")) == .tooManyAttempts)
      #expect(try await service.refusal(CloseTicket(ticketID: "é", pin: "1234")) == .invalidSessionInfo)
      service.clock.advance(by: .seconds(3600))
      await service.maintenance.tidy()
      let next = try await service.open()
      #expect(next != id)
      let reply = try await service.ask(CloseTicket(ticketID: next, pin: "1234"))
      #expect(try TicketClosed(json: reply.body).ticketID == next)
      #expect(try await service.status(next).state == .completed)
    }
  }

  // MARK: Deadlines

  @Test func `A ticket expires with an event, and is deleted after the retention`() async throws {
    try await TicketService.with { service in
      let id = try await service.open()
      service.clock.advance(by: .seconds(600))
      #expect(try await service.status(id).state == .expired)
      await service.maintenance.tidy()
      _ = service.sink.takePublished()
      await service.maintenance.publishLeftovers()
      #expect(service.sink.published.map(\.routingKey) == ["ticket.expired"])
      service.clock.advance(by: Ticket.retention)
      await service.maintenance.tidy()
      #expect(try await service.refusal(GetOperationStatus(operationID: id)) == .invalidSessionInfo)
      #expect(service.context.health.state == .ok)
    }
  }
}
