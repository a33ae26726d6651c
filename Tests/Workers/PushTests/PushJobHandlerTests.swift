import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import JobEngine
import Synchronization
import TestSupport
import Testing

@testable import Push

@Suite struct PushJobHandlerTests {
  private let file: MemoryFile
  private let message = JobMessage(
    messageID: "v1.push", messageType: PushVerifyJob.type, receivedAt: Sample.now)

  init() async throws {
    file = try await MemoryFile()
  }

  private func handler(
    production: FakeConnections = FakeConnections([]), sandbox: FakeConnections = FakeConnections([]),
    keys: KeyRing? = nil, lanes: [DeviceEnvironment: String] = [.production: "p", .sandbox: "s"],
    payload: PushPayload = PushPayload(key: PushPayload.defaultKey, form: .object)
  ) throws -> PushJobHandler {
    func lane(_ name: String, _ environment: DeviceEnvironment, _ connections: FakeConnections) throws -> APNsLane {
      APNsLane(
        name: name, api: try Sample.apnsAPI(environment, clock: ManualClock(Sample.now)), credential: .certificate,
        pool: connections.pool(limit: 9), clocks: ManualClocks(Sample.now).clocks)
    }
    return PushJobHandler(
      apps: [Sample.app: PushApp(topic: "the.topic", payload: payload, lanes: lanes)],
      routes: [
        PushRoute(lane: try lane("p", .production, production), environment: .production),
        PushRoute(lane: try lane("s", .sandbox, sandbox), environment: .sandbox),
      ],
      keys: try keys ?? KeyRing(sealing: nil), memory: file.memory)
  }

  private func job(
    app: String = Sample.app, token: String = Sample.deviceToken, environment: PushEnvironment = .production,
    receipt: String = "r", secret: String = "s"
  ) -> PushVerifyJob {
    PushVerifyJob(
      app: app, deviceToken: token, environment: environment, receipt: receipt, secret: SecretField(Secret(secret)),
      deadline: Sample.deadline)
  }

  private func ready(_ preparation: Preparation<SilentPush>) throws -> (job: SilentPush, facts: JobFacts) {
    guard case .ready(let job, let facts) = preparation else {
      Issue.record("\(preparation)")
      throw CancellationError()
    }
    return (job, facts)
  }

  @Test func `A job becomes a push`() throws {
    let token = Sample.deviceToken.uppercased()
    let prepared = try ready(try handler().prepare(job(token: token, environment: .sandbox), of: message))
    #expect(prepared.facts.lanes == ["s"])
    #expect(prepared.facts.onUnknown == .resend)
    #expect(prepared.facts.deadline == Sample.deadline)
    let push = prepared.job
    #expect(push.deviceToken == Sample.deviceToken)
    #expect(push.topic == "the.topic")
    #expect(push.expiration == Sample.deadline)
    #expect(push.isEnvironmentStated)
    #expect(String(decoding: push.payload, as: UTF8.self).contains(#"{"receipt":"r","secret":"s"}"#))
  }

  @Test func `Unknown environments are tried in production first`() throws {
    let prepared = try ready(try handler().prepare(job(environment: .unknown), of: message))
    #expect(prepared.facts.lanes == ["p", "s"])
    #expect(!prepared.job.isEnvironmentStated)
    let one = try ready(try handler(lanes: [.sandbox: "s"]).prepare(job(environment: .unknown), of: message))
    #expect(one.facts.lanes == ["s"])
  }

  @Test func `Unusable jobs are refused`() throws {
    func refusal(_ job: PushVerifyJob, lanes: [DeviceEnvironment: String] = [.production: "p"]) throws -> String {
      guard case .refused(let reason, _) = try handler(lanes: lanes).prepare(job, of: message) else { return "-" }
      return reason.code
    }
    #expect(try refusal(job(app: "com.example.other")) == "UNKNOWN_APP")
    #expect(try refusal(job(token: "xyz")) == "BAD_DEVICE_TOKEN")
    #expect(try refusal(job(receipt: "")) == "INVALID_RECEIPT")
    #expect(try refusal(job(environment: .sandbox)) == "NO_LANE")
    #expect(try refusal(job(), lanes: [:]) == "NO_LANE")
    #expect(try refusal(job(secret: String(repeating: "x", count: 4096))) == "PAYLOAD_TOO_LARGE")
    #expect(try refusal(job(secret: String(repeating: "x", count: 3900))) == "-")
  }

  @Test func `The secret is sealed for the device`() throws {
    let ring = try KeyRing(sealing: SymmetricKey(id: "k", bytes: Array(0..<32)))
    func prepare(id: String = "v1.push", recipient: String = Sample.deviceToken, keys: KeyRing?) throws -> String {
      var body = job(token: Sample.deviceToken.uppercased())
      let context = SealContext(messageType: PushVerifyJob.type, messageID: id, recipient: recipient)
      body.secret = try Sealer(keys: ring).seal(Secret("sesame"), for: context)
      switch try handler(keys: keys).prepare(body, of: message) {
      case .ready(let job, _): return String(decoding: job.payload, as: UTF8.self).contains("sesame") ? "opened" : "-"
      case .invalid(let problem): return "\(problem.code) \(problem.field ?? "-")"
      case .refused(let reason, _): return reason.code
      }
    }
    #expect(try prepare(keys: ring) == "opened")
    #expect(try prepare(id: "v2.push", keys: ring) == "SEAL_MISMATCH secret")
    #expect(try prepare(recipient: String(repeating: "0b", count: 32), keys: ring) == "SEAL_MISMATCH secret")
    #expect(try prepare(keys: nil) == "UNKNOWN_KEY secret")
    let other = try KeyRing(sealing: SymmetricKey(id: "other", bytes: Array(0..<32)))
    #expect(try prepare(keys: other) == "UNKNOWN_KEY secret")
  }

  private static let badToken = #"{"reason":"BadDeviceToken"}"#

  private func connections(_ answers: [(Int, String)]) -> FakeConnections {
    let number = Mutex(0)
    return FakeConnections([
      FakeConnection { (_) async throws(TransportError) -> HTTPResponse in
        let index = number.withLock { number in
          number += 1
          return number - 1
        }
        return HTTPResponse(status: answers[index].0, body: Array(answers[index].1.utf8))
      }
    ])
  }

  @Test func `An environment is found out once and remembered`() async throws {
    let production = connections([(400, Self.badToken)])
    let sandbox = connections([(200, ""), (200, "")])
    let handler = try handler(production: production, sandbox: sandbox)
    let push = Sample.push(isEnvironmentStated: false)
    #expect(await handler.perform(push, on: "p", Sample.attempt()).short == "otherLane BAD_DEVICE_TOKEN")
    let outcome = await handler.perform(push, on: "s", Sample.attempt())
    #expect(outcome.extras["environment"] == "sandbox")
    #expect(outcome.short.hasPrefix("accepted"))
    // The next time production is not asked.
    #expect(await handler.perform(push, on: "p", Sample.attempt()).short == "otherLane BAD_DEVICE_TOKEN")
    #expect(await handler.perform(push, on: "s", Sample.attempt()).short.hasPrefix("accepted"))
    #expect(production.requests.count == 1)
    #expect(sandbox.requests.count == 2)
  }

  @Test func `A token of no environment is bad`() async throws {
    let handler = try handler(
      production: connections([(400, Self.badToken)]), sandbox: connections([(400, Self.badToken)]))
    let push = Sample.push(isEnvironmentStated: false)
    _ = await handler.perform(push, on: "p", Sample.attempt())
    let outcome = await handler.perform(push, on: "s", Sample.attempt())
    #expect(outcome.short == "otherLane BAD_DEVICE_TOKEN")
    #expect(outcome.reason?.providerCode == "BadDeviceToken")
  }

  @Test func `A stated environment that is wrong is said`() async throws {
    let production = connections([(400, Self.badToken)])
    let handler = try handler(production: production)
    let outcome = await handler.perform(Sample.push(), on: "p", Sample.attempt())
    #expect(outcome.short == "otherLane WRONG_ENVIRONMENT")
    #expect(outcome.extras == ["environment": "production"])
    #expect(await file.memory.environment(of: Sample.push().deviceToken, app: Sample.push().app) == nil)
  }
}
