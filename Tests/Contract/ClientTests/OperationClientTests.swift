import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import CountersignClient

@Suite struct OperationClientTests {
  private static let time = UnixTime(seconds: 1_782_907_200)

  private func client(_ transport: FakeTransport, sealer: Sealer? = nil) -> CountersignClient {
    CountersignClient(transport: transport, name: "shop", sealer: sealer, clock: ManualClock(Self.time))
  }

  private func sealer() throws -> Sealer {
    Sealer(keys: try KeyRing(sealing: SymmetricKey(id: "k", bytes: Array(repeating: 1, count: 32))))
  }

  @Test func `An app gets its receipt`() async throws {
    let reply = AppVerifying(receipt: "r", suggestedTimeout: 10)
    let transport = FakeTransport(replying: reply)
    #expect(try await client(transport).verifyApp("a", deviceToken: "00ff", environment: .sandbox) == reply)
    let sent = try #require(transport.sent.first)
    #expect(sent.routingKey == "app.verify")
    #expect(try VerifyApp(json: sent.message.body).environment == .sandbox)
  }

  @Test(arguments: [false, true])
  func `A start carries its proof`(isSealed: Bool) async throws {
    let sealer = try sealer()
    let proofs: [CountersignClient.AppProof] = [
      .push(receipt: "r", secret: Secret("s")), .recaptcha(token: Secret("s"), receipt: "r"),
    ]
    for proof in proofs {
      let transport = FakeTransport()
      await #expect(throws: ClientError.self) {
        try await client(transport, sealer: isSealed ? sealer : nil)
          .startVerification(of: "+14155550123", app: "a", proof: proof)
      }
      let message = try #require(transport.sent.first?.message)
      let sent = try #require(try StartVerification(json: message.body).proof)
      #expect(sent.receipt == "r")
      let field = try #require(sent.secret ?? sent.recaptchaToken)
      #expect(field.isSealed == isSealed)
      let context = SealContext(
        messageType: StartVerification.type, messageID: try #require(message.messageID), recipient: "a")
      #expect(try sealer.open(field, for: context).reveal() == "s")
    }
  }

  @Test func `A token is sealed for its revocation`() async throws {
    let sealer = try sealer()
    let reply = OperationStarted(
      operationID: "o", kind: .appleRevocation, app: "a", startedAt: Self.time, repeated: false)
    let transport = FakeTransport(replying: reply)
    let started = try await client(transport, sealer: sealer).revoke(
      Secret("t"), kind: .authorizationCode, app: "a", notify: .init(email: "a@b"))
    #expect(started == reply)
    let message = try #require(transport.sent.first?.message)
    let command = try StartRevocation(json: message.body)
    #expect(command.token.kind == .authorizationCode)
    #expect(command.notify?.email == "a@b")
    let context = SealContext(
      messageType: StartRevocation.type, messageID: try #require(message.messageID), recipient: "a")
    #expect(command.token.secret.isSealed)
    #expect(try sealer.open(command.token.secret, for: context).reveal() == "t")
  }

  @Test func `An operation is asked about`() async throws {
    var reply = OperationStatus(
      operationID: "o", kind: .appleRevocation, app: "a", state: .completed, startedAt: Self.time,
      expiresAt: Self.time, timeline: [])
    reply.ending = .revoked
    let transport = FakeTransport(replying: reply)
    #expect(try await client(transport).operationStatus("o").ending == .revoked)
    #expect(transport.sent.first?.routingKey == "operation.status")
  }
}
