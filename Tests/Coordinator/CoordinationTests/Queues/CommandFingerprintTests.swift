import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import SQLite
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct CommandFingerprintTests {
  private static let start = StartVerification(
    phoneNumber: Bench.number, app: Bench.app, client: .init(ip: "192.0.2.1", instance: "one"), requester: "a")

  @Test func `After a change of the pepper a command gets the answer that was recorded under the one before`()
    async throws
  {
    let bench = try await Bench()
    let started = try await bench.ask(Self.start, id: "start")
    let id = try VerificationStarted(json: started.body).verificationID
    let wrong = Bench.wrong(try #require(try bench.jobs().first?.code))
    let check = CheckVerification(verificationID: id, code: SecretField(Secret(wrong)))
    let checked = try await bench.ask(check, id: "check")
    #expect(try ErrorReply(json: checked.body).error.code == .invalidCode)
    let verifyApp = VerifyApp(app: Bench.pushApp, deviceToken: String(repeating: "ab", count: 32))
    let verified = try await bench.ask(verifyApp, id: "app")
    #expect(verified.type != "error.v1")
    try bench.changePepper()
    #expect(try await bench.ask(Self.start, id: "start").body == started.body)
    #expect(try await bench.ask(check, id: "check").body == checked.body)
    #expect(try await bench.ask(verifyApp, id: "app").body == verified.body)
    // One ID is still one command.
    let other = CheckVerification(verificationID: id, code: SecretField(Secret("other")))
    #expect(try await bench.error(other, id: "check").field == "message_id")
    // The next change leaves the first pepper behind.
    try bench.changePepper()
    #expect(try await bench.ask(check, id: "check").body != checked.body)
  }

  @Test func `A start that waits is known under the pepper of before`() async throws {
    let bench = try await Bench()
    let message = try bench.message(
      bench.startCommand(Bench.captcha("token"), app: Bench.recaptchaApp), id: "start")
    await bench.deliver([message])
    try bench.changePepper()
    _ = bench.sink.takePublished()
    await bench.deliver([message])
    #expect(bench.sink.takePublished().isEmpty)
  }

  @Test func `The number of a start cannot be guessed from its fingerprint`() async throws {
    let bench = try await Bench()
    _ = try await bench.ask(Self.start, id: "start")
    let message = try bench.message(Self.start, id: "start")
    let kind = try #require(bench.context.registry.commands[StartVerification.type])
    let command = try #require(
      try kind.read(Envelope(message), message.body, bench.clock.now(), [:]) as? StartOrder)
    let recorded = try await bench.fingerprint()
    let requester = Base64URL.encode(command.claim.text(isFormer: false))
    let parts = [Bench.app, Bench.number, "signIn", "", requester, ""]
    let plain = SHA256.hash(Array((["verification.start.v1"] + parts).joined(separator: "\u{0}").utf8))
    #expect(recorded == command.fingerprint && recorded != plain && !command.isSame(as: plain))
  }
}

extension Bench {
  fileprivate func fingerprint() async throws -> [UInt8]? {
    try await database.read { session throws(StoreError) in
      try session.first("SELECT fingerprint FROM store_inbox") { row in row.blob(0) }
    }
  }
}
