import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import CountersignClient

@Suite struct CountersignClientTests {
  private static let time = UnixTime(seconds: 1_782_907_200)

  private func client(_ transport: FakeTransport, sealer: Sealer? = nil) -> CountersignClient {
    CountersignClient(transport: transport, name: "shop", sealer: sealer, clock: ManualClock(Self.time))
  }

  private var job: SMSDispatchJob {
    SMSDispatchJob(to: "+14155550123", content: .text("Hi"), deadline: Self.time + .seconds(60))
  }

  @Test func `A command goes to the coordinator and its reply comes back`() async throws {
    let reply = VerificationApproved(
      verificationID: "v", app: "com.example.app", phoneNumber: "+14155550123", approvedAt: Self.time)
    let transport = FakeTransport(replying: reply)
    #expect(try await client(transport).check("v", code: Secret("123456")) == reply)
    let sent = try #require(transport.sent.first)
    #expect(sent.exchange == "countersign.commands")
    #expect(sent.routingKey == "verification.check")
    #expect(sent.message.type == "verification.check.v1")
    #expect(sent.message.appID == "shop")
    #expect(sent.message.timestamp == 1_782_907_200)
    #expect(sent.message.correlationID == sent.message.messageID)
    #expect(sent.message.headers["traceparent"] != nil)
    #expect(try CheckVerification(json: sent.message.body).code == SecretField(Secret("123456")))
  }

  @Test(arguments: [nil, "operator"])
  func `The user is shown to those who want it`(user: String?) async throws {
    let reply = ConversionList(
      enabled: true, floorPercent: 10, windowSeconds: 60, blockCount: 0, blocks: [], regions: [], prefixes: [])
    let transport = FakeTransport(replying: reply)
    let client = CountersignClient(
      transport: transport, name: "shop", userID: user, sealer: nil, clock: ManualClock(Self.time))
    #expect(try await client.send(ListConversions()) == reply)
    #expect(try #require(transport.sent.first).message.userID == user)
  }

  @Test func `Purpose of a code is sent`() async throws {
    let started = FakeTransport()
    await #expect(throws: ClientError.self) {
      try await client(started).startVerification(
        StartVerification(
          phoneNumber: "+14155550123", app: "a", client: .init(ip: "192.0.2.1", instance: "i"),
          purpose: .secondFactorSignIn, subject: "s", requester: "q"))
    }
    let start = try StartVerification(json: try #require(started.sent.first).message.body)
    #expect(start.purpose == .secondFactorSignIn && start.subject == "s" && start.requester == "q")
    #expect(start.client?.instance == "i")
    let checked = FakeTransport()
    await #expect(throws: ClientError.self) {
      try await client(checked).check("v", code: Secret("1"), app: "a", purpose: .secondFactorSignIn, subject: "s")
    }
    let check = try CheckVerification(json: try #require(checked.sent.first).message.body)
    #expect(check.app == "a" && check.purpose == .secondFactorSignIn && check.subject == "s")
  }

  @Test func `With keys the code is sealed`() async throws {
    let sealer = Sealer(keys: try KeyRing(sealing: SymmetricKey(id: "k", bytes: Array(repeating: 1, count: 32))))
    let transport = FakeTransport()
    await #expect(throws: ClientError.self) {
      try await client(transport, sealer: sealer).check("v", code: Secret("123456"))
    }
    let message = try #require(transport.sent.first?.message)
    let code = try CheckVerification(json: message.body).code
    let context = SealContext(
      messageType: CheckVerification.type, messageID: try #require(message.messageID), recipient: "v")
    #expect(code.isSealed)
    #expect(try sealer.open(code, for: context).reveal() == "123456")
  }

  @Test func `A refusal is the coordinators own`() async {
    let refusal = APIError(.tooManyAttempts, "wait", retryAfter: 30)
    let error = await #expect(throws: ClientError.self) {
      try await client(FakeTransport(replying: ErrorReply(refusal))).status(of: "v")
    }
    #expect(error?.apiError == refusal)
    #expect(error?.isRetriable == true)
  }

  @Test func `A reply of another type is not taken for one`() async {
    let error = await #expect(throws: ClientError.self) {
      try await client(FakeTransport(replying: CancelVerification(verificationID: "v"))).cancel("v")
    }
    guard case .contract(let problem)? = error?.code else {
      return #expect(Bool(false), "not a problem of the contract")
    }
    #expect(problem.field == "type")
  }

  @Test func `Silence is no answer`() async {
    let error = await #expect(throws: ClientError.self) { try await client(FakeTransport()).status(of: "v") }
    #expect(error?.code == .noAnswer)
    #expect(error?.isRetriable == true)
  }

  @Test func `A missing topology is named`() async {
    let transport = FakeTransport { _ in .failure(AMQPError(.notFound, "no route")) }
    let error = await #expect(throws: ClientError.self) { try await client(transport).status(of: "v") }
    #expect(error?.code == .unroutable)
    #expect(error?.message.contains("topology apply") == true)
  }

  @Test func `A job is enqueued under its ID`() async throws {
    let transport = FakeTransport()
    #expect(try await client(transport).enqueue(job, id: "j", correlationID: "order-7") == "j")
    let sent = try #require(transport.sent.first)
    #expect(sent.exchange == "countersign.jobs")
    #expect(sent.routingKey == "sms.dispatch")
    #expect(sent.message.messageID == "j")
    #expect(sent.message.correlationID == "order-7")
    #expect(sent.message.isPersistent)
    #expect(try SMSDispatchJob(json: sent.message.body) == job)
  }

  @Test func `A job that the broker does not take fails`() async {
    let full = await #expect(throws: ClientError.self) {
      try await client(FakeTransport(outcome: .nacked)).enqueue(job)
    }
    #expect(full?.code == .brokerBusy)
    let unroutable = await #expect(throws: ClientError.self) {
      try await client(FakeTransport(outcome: .returned(code: 312, text: "NO_ROUTE"))).enqueue(job)
    }
    #expect(unroutable?.code == .unroutable)
  }

  @Test func `The result of a job comes back`() async throws {
    let result = JobResult(
      jobID: "j", outcome: .accepted, attempts: 1, startedAt: Self.time, finishedAt: Self.time
    ).adding(["segments": 1])
    let transport = FakeTransport { request in
      do {
        return .success(Message(type: "sms.dispatch.result.v1", body: try result.json()))
      } catch {
        return .failure(AMQPError(.protocolViolation, "\(error)"))
      }
    }
    #expect(try await client(transport).perform(job, id: "j", timeout: .seconds(5)) == result)
  }

  @Test func `A wrong URL is refused without being repeated`() {
    let error = #expect(throws: ClientError.self) { try CountersignClient(url: "http://me:hunter2@h", name: "shop") }
    #expect(error?.message.contains("hunter2") == false)
  }
}
