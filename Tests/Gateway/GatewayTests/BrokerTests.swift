import CountersignAMQP
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import Projects
import Testing

@testable import Gateway

@Suite struct BrokerTests {
  private static func gateway(
    _ broker: FakeBroker, timeout: Duration = Broker.usualTimeout, maxInFlight: Int = 64,
    answerTime: Duration = CallLimits.answerTime
  ) throws -> GatewayBench {
    try GatewayBench(broker, maxInFlight: maxInFlight, answerTime: answerTime) { rules, connection in
      [
        .v1("signUp", .post, "accounts:signUp", old: "signupNewUser", waitsFor: .accounts) {
          call async throws(ProtocolError) -> CallAnswer in
          let command = SignUp(project: try call.project().id, replyKey: rules.replyKeyText)
          var answer = CallAnswer()
          switch try await connection.ask(command, messageID: MessageID.make(), timeout: timeout) {
          case .success(let reply): answer.put("localId", reply.localID)
          case .failure(let error): throw .account(error.code.rawValue)
          }
          return answer
        }
      ]
    }
  }

  private static func answering() -> FakeBroker {
    FakeBroker { _, message in
      var reply = AccountSignedIn()
      reply.localID = "abc"
      return try FakeBroker.reply(reply, to: message)
    }
  }

  @Test func `A command carries what other clients' do, and a fresh ID each time`() async throws {
    let broker = Self.answering()
    let gateway = try Self.gateway(broker)
    for _ in 0..<3 {
      let answer = try await gateway.post(GatewayBench.signUp, "{}")
      #expect(answer["localId"] == .text("abc"))
    }
    #expect(broker.violations.isEmpty)
    #expect(Set(broker.commands.compactMap(\.messageID)).count == 3)
    #expect(try broker.command(SignUp.self).project == "example")
    #expect(
      gateway.metrics.render().contains(
        #"countersign_gateway_commands_total{type="account.signUp",outcome="answered"} 3"#))
  }

  @Test func `A refusal is the protocol's error`() async throws {
    let broker = FakeBroker { try FakeBroker.refusal(APIError(.operationNotAllowed, "no"), to: $1) }
    let answer = try await Self.gateway(broker).post(GatewayBench.signUp, "{}")
    #expect(answer.isError(400))
    #expect(answer.message == "OPERATION_NOT_ALLOWED")
  }

  @Test func `Without a broker it is 503, soon`() async throws {
    let broker = Self.answering()
    broker.setReady(false)
    let gateway = try Self.gateway(broker)
    let answer = try await gateway.post(GatewayBench.signUp, "{}")
    #expect(answer.isError(503))
    #expect(answer.word == "UNAVAILABLE")
    #expect(answer.headers["Retry-After"] == "1")
    #expect(broker.commands.isEmpty)
  }

  @Test func `A connection that comes back at once is waited for`() async throws {
    let broker = Self.answering()
    broker.setReady(false)
    let gateway = try Self.gateway(broker)
    broker.becomeReady(atLook: 2)
    #expect(try await gateway.post(GatewayBench.signUp, "{}").status == 200)
  }

  @Test(
    arguments: [
      AMQPError(.timedOut, "t"), AMQPError(.notFound, "n"), AMQPError(.nacked, "n"), AMQPError(.closed, "c"),
      AMQPError(.connectionLost, "c"), AMQPError(.accessRefused, "a"),
    ]) func `Failures of the broker are 503`(error: AMQPError) async throws
  {
    let broker = Self.answering()
    broker.fail(error)
    let answer = try await Self.gateway(broker).post(GatewayBench.signUp, "{}")
    #expect(answer.isError(503))
    #expect(answer.word == "UNAVAILABLE")
  }

  @Test func `A service that does not answer is 503 when the time is over`() async throws {
    let broker = Self.answering()
    broker.delay(.seconds(20))
    let gateway = try Self.gateway(broker, timeout: .milliseconds(100))
    #expect(try await gateway.post(GatewayBench.signUp, "{}").isError(503))
    #expect(gateway.metrics.render().contains(#"outcome="timed_out"} 1"#))
  }

  @Test func `A call that takes longer than any may is ended`() async throws {
    let broker = Self.answering()
    // Longer than the client waits.
    broker.delay(.seconds(600))
    let gateway = try Self.gateway(broker, timeout: .seconds(600), answerTime: .milliseconds(200))
    #expect(try await gateway.post(GatewayBench.signUp, "{}").isError(503))
  }

  @Test func `A reply of another type, or that cannot be read, is 500`() async throws {
    let wrong = FakeBroker { try FakeBroker.reply(AccountsReset(deleted: 1), to: $1) }
    #expect(try await Self.gateway(wrong).post(GatewayBench.signUp, "{}").isError(500))
    let broken = FakeBroker { _, message in
      var reply = try FakeBroker.reply(AccountSignedIn(), to: message)
      reply.body = Array("[".utf8)
      return reply
    }
    let gateway = try Self.gateway(broken)
    #expect(try await gateway.post(GatewayBench.signUp, "{}").isError(500))
    #expect(gateway.log.text.contains("a reply breaks the contract"))
  }

  @Test func `Times are below those after which SDKs give up`() {
    #expect(Broker.usualTimeout + Broker.reconnectTime < CallLimits.answerTime)
    #expect(Broker.startTimeout + Broker.reconnectTime < CallLimits.answerTime)
    #expect(CallLimits.answerTime < .seconds(30))
  }

  @Test func `Log and metrics have names and statuses, and nothing of the request`() async throws {
    let broker = Self.answering()
    let gateway = try Self.gateway(broker)
    _ = try await gateway.post(GatewayBench.signUp, #"{"idToken": "secret-token"}"#)
    _ = try await gateway.post("/secret-path", "{}", headers: [("Authorization", "Bearer secret-token")])
    let metrics = gateway.metrics.render()
    #expect(metrics.contains(#"countersign_gateway_requests_total{call="signUp",status="200"} 1"#))
    #expect(metrics.contains(#"countersign_gateway_requests_total{call="unknown",status="404"} 1"#))
    // An alert must see the first.
    #expect(metrics.contains(#"countersign_gateway_requests_total{call="signUp",status="503"} 0"#))
    #expect(metrics.contains(#"countersign_gateway_requests_in_flight{class="accounts"} 0"#))
    #expect(gateway.log.text.contains("signUp"))
    for text in [metrics, gateway.log.text] {
      #expect(!text.contains("secret"))
      #expect(!text.contains(GatewayBench.apiKey))
    }
  }
}
