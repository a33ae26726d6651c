import CountersignAMQP
import CountersignEncoding
import CountersignMessages
import Testing

@testable import Gateway

@Suite struct AppleNoticeCallTests {
  private static let path = "/v1/projects/example/apple/notifications"

  private func gateway(_ broker: FakeBroker) throws -> GatewayBench {
    try GatewayBench(broker) { rules, connection in
      let backend = Backend(rules: rules, broker: connection, misconfigurations: .quiet)
      return AppleNoticeCalls(backend: backend, projects: rules.projects).routes
    }
  }

  @Test(arguments: [false, true])
  func `A notification is passed on without an API key, and answered once it is stored`(isRepeated: Bool) async throws {
    let fixture = try CallFixture()
    fixture.services.on(NoteApple.self) { command, asked throws in
      #expect(try asked.open(command.payload) == "eyJ.a.b" && command.project == "example")
      return AppleNoted(isRepeated: isRepeated)
    }
    #expect(try await fixture.post(Self.path, #"{"payload":"eyJ.a.b"}"#) == [:])
    let broker = FakeBroker { _, message in try FakeBroker.reply(AppleNoted(isRepeated: isRepeated), to: message) }
    let answer = try await gateway(broker).post(Self.path, #"{"payload":"eyJ.a.b"}"#, key: nil)
    #expect(answer.status == 200 && answer.text == "{}" && broker.violations == [])
  }

  @Test(
    arguments: [
      "{}", #"{"payload":""}"#, #"{"payload":5}"#, "[]", "x",
      #"{"payload":"\#(String(repeating: "x", count: (16 << 10) + 1))"}"#,
    ])
  func `What is no notification is 400, and goes nowhere`(body: String) async throws {
    let broker = FakeBroker()
    let answer = try await gateway(broker).post(Self.path, body, key: nil)
    #expect(answer.isError(400) && broker.commands.isEmpty)
  }

  @Test func `One that accounts refuses is 400, and an unknown project 404`() async throws {
    let refused = APIError(.invalidIDPResponse, "the notification is refused: it has expired", field: "payload")
    let broker = FakeBroker { _, message in try FakeBroker.refusal(refused, to: message) }
    let gateway = try gateway(broker)
    let answer = try await gateway.post(Self.path, #"{"payload":"eyJ.a.b"}"#, key: nil)
    #expect(answer.isError(400) && answer.message?.hasPrefix("INVALID_IDP_RESPONSE : ") == true)
    let foreign = Self.path.replacing("example", with: "foreign")
    #expect(try await gateway.post(foreign, #"{"payload":"eyJ.a.b"}"#, key: nil).isError(404))
    #expect(broker.commands.count == 1)
  }

  @Test func `Without accounts, or without Apple's keys, it is 503: Apple sends it again`() async throws {
    let away = FakeBroker()
    away.fail(AMQPError(.notFound, "no queue takes it"))
    #expect(try await gateway(away).post(Self.path, #"{"payload":"eyJ.a.b"}"#, key: nil).isError(503))
    let keyless = FakeBroker { _, message in
      let error = APIError(.internalError, "apple.com does not answer", retryAfter: 10, reason: "PROVIDER_UNREACHABLE")
      return try FakeBroker.refusal(error, to: message)
    }
    #expect(try await gateway(keyless).post(Self.path, #"{"payload":"eyJ.a.b"}"#, key: nil).isError(503))
  }
}
