import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import SQLite
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct AtRestTests {
  let bench: Bench

  init() async throws { bench = try await Bench() }

  private static let other = "+14155550177"
  /// Kinds of records, and the other parts of the store.
  private static let parts = ["verification", "inbox", "assessment", "counter", "outbox", "appProof", "revocation"]

  private func forget(_ bench: Bench, user: String? = "operator") async throws -> Message {
    try await bench.ask(ForgetNumber(phoneNumber: "+1 415 555 0123"), user: user)
  }

  @Test func `A number is forgotten: what lives is canceled, nothing of it stays, and nothing of another goes`()
    async throws
  {
    let first = try await bench.start(ip: "192.0.2.1")
    let code = try #require(try bench.jobs().first?.code)
    #expect(try await bench.check(first.verificationID, code).type == "verification.approved.v1")
    let live = try await bench.start()
    let other = try await bench.start(Self.other)
    let reply = try await forget(bench)
    #expect(bench.events() == ["verification.canceled"])
    let counts = try NumberForgotten(json: reply.body)
    #expect(counts == NumberForgotten(verifications: 2, canceled: 1, replies: 3, waiting: 0, counts: 1))
    #expect(!String(decoding: reply.body, as: UTF8.self).contains("4155550123"))
    // Published messages are deleted with the next transaction.
    await bench.maintenance.end()
    for part in Self.parts { #expect(!(try await bench.dump(part)).contains("4155550123"), "\(part)") }
    #expect(try await bench.checkError(live.verificationID, "000000") == .invalidSessionInfo)
    #expect(try await bench.status(other.verificationID).state == .sending)
    // Once more: there is nothing left.
    let again = try NumberForgotten(json: try await forget(bench).body)
    #expect(again == NumberForgotten(verifications: 0, canceled: 0, replies: 0, waiting: 0, counts: 0))
  }

  @Test func `A start that waits for reCAPTCHA is forgotten, and its result changes nothing`() async throws {
    let command = bench.startCommand(Bench.captcha("token"), app: Bench.recaptchaApp)
    await bench.deliver([try bench.message(command)])
    let job = try #require(try bench.published(RecaptchaAssessJob.self).first)
    #expect(try NumberForgotten(json: try await forget(bench).body).waiting == 1)
    try await bench.finish(RecaptchaAssessJob.self, job.id, .accepted)
    #expect(try bench.jobs().isEmpty)
  }

  @Test func `Only operators forget, and what is no number is an error`() async throws {
    _ = try await bench.start()
    for user in [nil, "service"] {
      #expect(try ErrorReply(json: try await forget(bench, user: user).body).error.code == .operationNotAllowed)
    }
    #expect(try await bench.count("verification") == 1)
    #expect(try await bench.error(ForgetNumber(phoneNumber: "4711"), user: "operator").code == .invalidPhoneNumber)
  }

  @Test func `An assessment that has ended keeps the hash of its token, and neither number nor network`() async throws {
    let command = bench.startCommand(Bench.captcha("token"), app: Bench.recaptchaApp)
    await bench.deliver([try bench.message(command)])
    #expect(try await bench.dump("assessment").contains("4155550123"))
    let job = try #require(try bench.published(RecaptchaAssessJob.self).first)
    try await bench.finish(RecaptchaAssessJob.self, job.id, .accepted)
    #expect(try bench.published(SMSDispatchJob.self).count == 1)
    let rest = try await bench.dump("assessment")
    #expect(!rest.contains("4155550123") && !rest.contains("192.0.2") && !rest.contains("replies"))
    #expect(try await bench.error(command).reason == "CAPTCHA_REPLAYED")
  }

  @Test func `Commands that change nothing leave no row, and are answered anew`() async throws {
    let started = try await bench.start()
    let before = try await bench.count("inbox")
    for _ in 0..<5 {
      #expect(try await bench.start().verificationID == started.verificationID)
      #expect(try await bench.checkError("unknown", "000000") == .invalidSessionInfo)
      #expect(try await bench.error(CancelVerification(verificationID: "unknown")).code == .invalidSessionInfo)
      let proof = Bench.pair("none", "none")
      #expect(try await bench.error(bench.startCommand(proof)).reason == "UNKNOWN_RECEIPT")
    }
    #expect(try await bench.count("inbox") == before)
  }

  @Test func `After the retention nothing of a number, an address, a code or a token is in the files of the database`()
    async throws
  {
    let secrets = try await fill(bench)
    try await tidy(bench)
    try await check(bench, secrets)
  }

  private func fill(_ bench: Bench) async throws -> [String] {
    let started = try await bench.start(ip: "198.51.100.7")
    let code = try #require(try bench.jobs().first?.code)
    _ = try await bench.checkError(started.verificationID, Bench.wrong(code))
    _ = try await bench.check(started.verificationID, code)
    _ = try await bench.start(Self.other)
    let waiting = bench.startCommand(Bench.captcha("captcha-token"), app: Bench.recaptchaApp, number: "+14155550188")
    await bench.deliver([try bench.message(waiting)])
    let pair = try await bench.receipt()
    _ = try await bench.ask(
      StartRevocation(
        app: Bench.app, token: AppleToken(.refreshToken, SecretField(Secret("apple-token"))),
        notify: .init(email: "somebody@example.com")))
    return [
      "4155550123", "4155550177", "4155550188", "198.51.100", "192.0.2.1", code, "captcha-token", pair.secret,
      Bench.token, Bench.token.lowercased(), "apple-token", "somebody",
    ]
  }

  private func tidy(_ bench: Bench) async throws {
    for _ in 0..<3 {
      bench.clock.advance(by: .seconds(40 * 86_400))
      for _ in 0..<2 {
        await bench.maintenance.tidy()
        await bench.maintenance.publishLeftovers()
      }
      await bench.maintenance.end()
    }
  }

  private func check(_ bench: Bench, _ secrets: [String]) async throws {
    for part in Self.parts { #expect(try await bench.count(part) == 0, "\(part)") }
    await bench.database.close()
    let files = try contents(of: bench.database.path)
    #expect(!files.isEmpty)
    for secret in secrets { #expect(!files.contains(secret), "\(secret)") }
  }

  /// All bytes of the files, each as one character.
  private func contents(of path: String) throws -> String {
    try [path, path + "-wal"].filter { FileManager.default.fileExists(atPath: $0) }.map { file in
      let bytes = try Data(contentsOf: URL(filePath: file))
      return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }.joined()
  }
}
