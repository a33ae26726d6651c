import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import SQLite
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct ReceiptTests {
  let bench: Bench

  init() async throws { bench = try await Bench() }

  private let command = VerifyApp(app: Bench.pushApp, deviceToken: Bench.token, environment: .sandbox)

  @Test func `The push goes out after the reply, with the secret sealed`() async throws {
    let answer = try await bench.reply(to: command)
    #expect(answer.suggestedTimeout == 10)
    #expect(bench.sink.published.map(\.exchange) == ["", Topology.Exchanges.jobs])
    let push = try #require(try bench.pushes().first)
    #expect(push.id == "\(answer.receipt).push.1")
    #expect(push.job.receipt == answer.receipt)
    #expect(push.job.deviceToken == Bench.token.lowercased())
    #expect(push.job.environment == .sandbox)
    #expect(push.job.deadline == bench.clock.now() + .seconds(60))
    #expect(push.secret.utf8.count == 43)
    try await bench.outbox.settle()
    #expect(try await bench.count("held") == 0)
    #expect(try await bench.count("outbox") == 0)
  }

  @Test func `Neither the secret nor the device token is stored in the clear`() async throws {
    let (_, secret) = try await bench.receipt()
    let stored = try await bench.dump("appProof")
    #expect(!stored.contains(secret))
    #expect(!stored.contains(Bench.token.lowercased()))
  }

  @Test func `Every call gets a receipt and a secret of its own, in one batch too`() async throws {
    await bench.deliver([try bench.message(command), try bench.message(command)])
    let receipts = try bench.replies.map { try AppVerifying(json: $0.body).receipt }
    #expect(Set(receipts).count == 2)
    let pushes = try bench.pushes()
    #expect(Set(pushes.map(\.job.receipt)) == Set(receipts))
    #expect(Set(pushes.map(\.secret)).count == 2)
  }

  @Test func `The timeline of a receipt has the outcome of its push`() async throws {
    let receipt = try await bench.receipt().receipt
    try await bench.finish(PushVerifyJob.self, "\(receipt).push.1", .accepted, extras: ["environment": "sandbox"])
    let status = try await bench.operation(receipt)
    #expect(status.kind == .appVerification)
    #expect(status.state == .running)
    #expect(status.timeline.map(\.event) == ["started", "push.queued", "push.accepted"])
    let entry = try #require(status.timeline.last)
    #expect(entry.reference == "SM1")
    #expect(entry.worker == "worker")
    #expect(entry.detail == "sandbox")
    #expect(
      bench.registry.render().contains(#"countersign_app_proofs_total{method="push",outcome="push_accepted"} 1"#))
  }

  @Test func `A push that was refused is told of at once, with its reason`() async throws {
    let receipt = try await bench.receipt().receipt
    try await bench.finish(PushVerifyJob.self, "\(receipt).push.1", .refused, reason: "WRONG_TOPIC")
    let event = try #require(try bench.event(AppUnverified.self))
    #expect(event.receipt == receipt)
    #expect(event.failure == .init(code: "WRONG_TOPIC", detail: "because"))
    #expect(bench.sink.published.last?.message.correlationID == receipt)
    let status = try await bench.operation(receipt)
    #expect(status.state == .failed)
    #expect(status.failure?.code == "WRONG_TOPIC")
    let proof = StartVerification.Proof(receipt: receipt, secret: SecretField(Secret("")))
    let error = try await bench.error(bench.startCommand(proof))
    #expect(error.code == .missingAppCredential)
    #expect(error.reason == "WRONG_TOPIC")
  }

  @Test(
    arguments: [
      ("UNREGISTERED", APIErrorCode.missingIOSAppToken), ("WRONG_TOPIC", .invalidAppCredential),
      ("WRONG_ENVIRONMENT", .invalidAppCredential), ("BAD_DEVICE_TOKEN", .invalidAppCredential),
    ])
  func `A device token that was refused lately is answered at once`(code: String, answer: APIErrorCode) async throws {
    let receipt = try await bench.receipt().receipt
    try await bench.finish(PushVerifyJob.self, "\(receipt).push.1", .refused, reason: code)
    let error = try await bench.error(command)
    #expect(error.code == answer)
    #expect(error.reason == code)
    #expect(try bench.pushes().isEmpty)
    // Another environment is another question, and everything is forgotten after a while.
    #expect(try await bench.ask(VerifyApp(app: Bench.pushApp, deviceToken: Bench.token)).type == "app.verifying.v1")
    bench.clock.advance(by: .seconds(3600))
    #expect(try await bench.ask(command).type == "app.verifying.v1")
  }

  @Test func `A push that gets through ends the memory of a refusal`() async throws {
    let (first, second) = (try await bench.receipt().receipt, try await bench.receipt().receipt)
    await bench.deliverResults([
      try bench.report(PushVerifyJob.self, "\(first).push.1", .refused, reason: "BAD_DEVICE_TOKEN"),
      try bench.report(PushVerifyJob.self, "\(second).push.1", .accepted),
    ])
    #expect(try await bench.ask(command).type == "app.verifying.v1")
  }

  @Test func `The last report of a batch decides on the memory of a refusal`() async throws {
    var receipts: [String] = []
    for _ in 0..<3 { receipts.append(try await bench.receipt().receipt) }
    let reports = try zip(receipts, [JobOutcome.refused, .accepted, .refused]).map { receipt, outcome in
      try bench.report(
        PushVerifyJob.self, "\(receipt).push.1", outcome, reason: outcome == .refused ? "WRONG_TOPIC" : nil)
    }
    await bench.deliverResults([reports[0]])
    await bench.deliverResults(Array(reports[1...]))
    #expect(try await bench.error(command).reason == "WRONG_TOPIC")
  }

  @Test func `A device token that is gone takes all its receipts along`() async throws {
    let first = try await bench.receipt()
    let other = try await bench.receipt(token: "ff")
    let second = try await bench.receipt()
    try await bench.finish(PushVerifyJob.self, "\(second.receipt).push.1", .refused, reason: "UNREGISTERED")
    let error = try await bench.error(bench.startCommand(Bench.pair(first.receipt, first.secret)))
    #expect(error.code == .invalidAppCredential)
    #expect(error.reason == "RECEIPT_REVOKED")
    _ = try await bench.reply(to: bench.startCommand(Bench.pair(other.receipt, other.secret)))
    #expect(try await bench.operation(second.receipt).state == .failed)
  }

  @Test func `All of them, however many there are, and however many newer ones are over`() async throws {
    let bench = try await Bench(Bench.rules { $0.limits[.receiptsPerDevicePerHour] = 10_000 })
    let first = try await bench.receipt()
    // In the group of the device, both come before the receipts of the coordinator.
    try await add(600, .proven, like: first.receipt, to: bench)
    try await add(1_100, .expired, like: first.receipt, to: bench)
    bench.clock.advance(by: .seconds(2))
    let last = try await bench.receipt()
    try await bench.finish(PushVerifyJob.self, "\(last.receipt).push.1", .refused, reason: "UNREGISTERED")
    #expect(try await count(.revoked, in: bench) == StoreLimits.maxGroupPage)
    // Those that are left are not accepted all the same.
    let error = try await bench.error(bench.startCommand(Bench.pair(first.receipt, first.secret)))
    #expect(error.reason == "RECEIPT_REVOKED")
    let half = StartVerification.Proof(receipt: last.receipt, secret: SecretField(Secret("")))
    #expect(try await bench.error(bench.startCommand(half)).reason == "UNREGISTERED")
    for _ in 0..<3 { try await bench.sweep() }
    #expect(try await count(.revoked, in: bench) == 601)
    #expect(try await count(.expired, in: bench) == 1_100)
    #expect(try await bench.operation(last.receipt).state == .failed)
  }

  @Test func `A report on a receipt of a device that is gone does not bring it back`() async throws {
    let bench = try await Bench(Bench.rules { $0.limits[.receiptsPerDevicePerHour] = 10_000 })
    let first = try await bench.receipt()
    try await add(300, .proven, like: first.receipt, to: bench)
    bench.clock.advance(by: .seconds(2))
    let last = try await bench.receipt()
    await bench.deliverResults([
      try bench.report(PushVerifyJob.self, "\(last.receipt).push.1", .refused, reason: "UNREGISTERED"),
      try bench.report(PushVerifyJob.self, "\(first.receipt).push.1", .refused, reason: "UNREGISTERED"),
    ])
    #expect(try await bench.operation(first.receipt).state == .revoked)
    for _ in 0..<3 { try await bench.sweep() }
    // Whose push was refused last is spared, unless it was revoked before.
    #expect(try await count(.revoked, in: bench) == 302)
  }

  @Test func `A device that is gone takes along the receipts of before the pepper was changed`() async throws {
    let first = try await bench.receipt()
    try bench.changePepper()
    let second = try await bench.receipt()
    try await bench.finish(PushVerifyJob.self, "\(second.receipt).push.1", .refused, reason: "UNREGISTERED")
    #expect(try await bench.operation(first.receipt).state == .revoked)
    #expect(try await bench.error(command).reason == "UNREGISTERED")
  }

  @Test func `The mark of a device that is gone goes when no receipt of before can be valid any longer`() async throws {
    let receipt = try await bench.receipt().receipt
    try await bench.finish(PushVerifyJob.self, "\(receipt).push.1", .refused, reason: "UNREGISTERED")
    #expect(try await bench.count("revokedToken") == 1)
    #expect(try await bench.count("refusedToken") == 1)
    bench.clock.advance(by: .seconds(3600))
    await bench.maintenance.tidy()
    #expect(try await bench.count("revokedToken") == 1)
    #expect(try await bench.count("refusedToken") == 0)
    bench.clock.advance(by: .seconds(7 * 86_400))
    await bench.maintenance.tidy()
    #expect(try await bench.count("revokedToken") == 0)
  }

  private func add(_ count: Int, _ state: AppProofState, like receipt: String, to bench: Bench) async throws {
    let (records, policy) = (AppProofRecords(bench.rules), bench.rules.proof)
    _ = try await bench.store.transact(at: bench.clock.now()) { set throws(StoreError) in
      guard let first = try records.found(receipt, in: set) else { throw StoreError(.misuse, "there is no receipt") }
      for number in 1...count {
        var proof = AppProof(
          receipt: "!\(state)\(number)", app: first.app, tokenHash: first.tokenHash, environment: first.environment,
          secret: first.secret, at: first.createdAt + .milliseconds(number), under: policy)
        proof.state = state
        try records.put(proof, isNew: true, in: &set)
      }
    }
  }

  private func count(_ state: AppProofState, in bench: Bench) async throws -> Int {
    let bodies = try await bench.database.read { session throws(StoreError) in
      try session.query("SELECT body FROM store_record WHERE kind = 'appProof'") { $0.blob(0) }
    }
    let id = try #require(RecordID(AppProofRecords.kind, "any"))
    return try bodies.count { try AppProof(Record(id, body: $0)).state == state }
  }

  @Test func `A device and an address get so many receipts an hour`() async throws {
    let bench = try await Bench(Bench.rules([.receiptsPerDevicePerHour: 2, .proofsPerAddressPerHour: 3]))
    func ask(_ token: String, _ ip: String?) async throws -> String {
      let reply = try await bench.ask(
        VerifyApp(app: Bench.pushApp, deviceToken: token, client: ip.map { .init(ip: $0) }))
      return reply.type == "error.v1" ? try ErrorReply(json: reply.body).error.code.rawValue : "OK"
    }
    #expect(try await ask("aa", nil) == "OK")
    #expect(try await ask("aa", "192.0.2.1") == "OK")
    #expect(try await ask("aa", nil) == "TOO_MANY_ATTEMPTS_TRY_LATER")
    #expect(try await ask("bb", "192.0.2.1") == "OK")
    #expect(try await ask("cc", "192.0.2.1") == "OK")
    #expect(try await ask("dd", "192.0.2.1") == "TOO_MANY_ATTEMPTS_TRY_LATER")
    #expect(try await ask("dd", "192.0.2.2") == "OK")
    bench.clock.advance(by: .seconds(3600))
    #expect(try await ask("aa", "192.0.2.1") == "OK")
  }

  @Test(
    arguments: [
      (Bench.pushApp, "", APIErrorCode.missingIOSAppToken), (Bench.pushApp, "xy", .invalidAppCredential),
      (Bench.pushApp, "abc", .invalidAppCredential), ("nobody", "ab", .invalidArgument),
      ("", "ab", .missingClientIdentifier), ("closed", "ab", .appNotVerified),
      (Bench.recaptchaApp, "ab", .invalidAppCredential),
    ])
  func `Devices that cannot be pushed to are refused at once`(app: String, token: String, code: APIErrorCode)
    async throws
  {
    #expect(try await bench.error(VerifyApp(app: app, deviceToken: token)).code == code)
    #expect(try await bench.count("appProof") == 0)
  }

  @Test func `Without a reply_to nobody would learn the receipt`() async throws {
    await bench.deliver([try bench.message(command, replyTo: nil)])
    #expect(bench.sink.published.map(\.exchange) == [Topology.Exchanges.dead])
  }

  @Test func `A receipt that is over is deleted after a while`() async throws {
    let receipt = try await bench.receipt().receipt
    bench.clock.advance(by: .seconds(86_400))
    #expect(try await bench.operation(receipt).state == .expired)
    try await bench.sweep()
    #expect(try await bench.count("appProof") == 1)
    bench.clock.advance(by: .seconds(86_400))
    try await bench.sweep()
    #expect(try await bench.count("appProof") == 0)
    #expect(try await bench.error(GetOperationStatus(operationID: receipt)).code == .invalidSessionInfo)
  }
}
