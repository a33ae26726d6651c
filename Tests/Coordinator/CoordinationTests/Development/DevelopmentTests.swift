import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct DevelopmentTests {
  private static let gateway = Topology.Users.gateway
  private static let development = Bench.rules { $0.isDevelopment = true }

  private func reset(_ bench: Bench, by user: String) async throws -> Message {
    try await bench.ask(ResetDevelopment(), user: user)
  }

  @Test(arguments: [gateway, "operator"])
  func `A reset empties the limits of everybody`(user: String) async throws {
    let rules = Bench.rules {
      $0.isDevelopment = true
      $0.limits[.sendsPerAddressPerHour] = 1
    }
    func start(_ number: String) -> StartVerification {
      StartVerification(phoneNumber: number, app: Bench.app, client: .init(ip: "192.0.2.1"))
    }
    let bench = try await Bench(rules)
    _ = try await bench.start(ip: "192.0.2.1")
    #expect(try await bench.error(start("+14155550177")).retryAfter != nil)
    #expect(try await reset(bench, by: user).type == "development.resetDone.v1")
    #expect(try await bench.ask(start("+14155550177")).type == "verification.started.v1")
    #expect(try await bench.error(start("+14155550178")).retryAfter != nil)
  }

  @Test func `A reset ends live verifications: the next start has an SMS of its own`()
    async throws
  {
    let bench = try await Bench(Self.development)
    let first = try await bench.start()
    let ended = try await bench.start("+14155550178")
    _ = try await bench.ask(CancelVerification(verificationID: ended.verificationID))
    _ = bench.sink.takePublished()
    #expect(try await bench.start().verificationID == first.verificationID)
    #expect(try bench.jobs().isEmpty)
    #expect(try await reset(bench, by: Self.gateway).type == "development.resetDone.v1")
    #expect(try await bench.count("verification") == 0)
    #expect(bench.metrics.liveVerifications.value == 0)
    _ = bench.sink.takePublished()
    let second = try await bench.start()
    #expect(second.verificationID != first.verificationID)
    #expect(try bench.jobs().count == 1)
    #expect(
      try await bench.error(GetVerificationStatus(verificationID: first.verificationID)).code == .invalidSessionInfo)
  }

  @Test func `The same reset that arrives again empties the limits again`() async throws {
    let bench = try await Bench(Self.development)
    for number in ["+14155550177", "+14155550178"] {
      _ = try await bench.start(number)
      _ = try await bench.ask(ResetDevelopment(), id: "reset", user: Self.gateway)
      #expect(try await bench.store.counters(named: Array("*".utf8), since: .min, limit: 9).isEmpty)
    }
  }

  @Test func `Outside development nobody empties limits, and in it not everybody`() async throws {
    for (rules, users) in [
      (Bench.rules(), [Self.gateway, "operator", "service", nil]), (Self.development, ["service", "accounts", nil]),
    ] {
      try await Bench.with(rules) { bench in
        _ = try await bench.start()
        for user in users {
          let error = try await bench.error(ResetDevelopment(), user: user)
          #expect(error.code == .operationNotAllowed)
          #expect(error.message.contains(rules.isDevelopment ? "'operators'" : "'development: true'"))
        }
        #expect(try await !bench.store.counters(named: Array("*".utf8), since: .min, limit: 9).isEmpty)
      }
    }
  }

  @Test func `A gateway under another user is one that the configuration names`() async throws {
    let command = StartVerification(phoneNumber: Bench.number, app: Bench.app)
    let bench = try await Bench(Bench.rules { $0.gateways = [Self.gateway, "gateway-eu"] })
    for user in [Self.gateway, "gateway-eu"] {
      let error = try await bench.error(command, user: user)
      #expect(error.reason == "TRUSTED_OVER_HTTP", "\(user)")
    }
    #expect(try await bench.ask(command, user: "gateway-us").type == "verification.started.v1")
  }

  @Test func `The gateway starts nothing for an app whose callers are trusted, unless in development`() async throws {
    let commands = [
      StartVerification(phoneNumber: Bench.number, app: Bench.app),
      StartVerification(phoneNumber: Bench.fictional, app: Bench.app),
    ]
    try await Bench.with { bench in
      for command in commands {
        let error = try await bench.error(command, user: Self.gateway)
        #expect(error.code == .operationNotAllowed && error.field == "app" && error.reason == "TRUSTED_OVER_HTTP")
        #expect(error.message.contains("'verification'") && error.message.contains("'development: true'"))
      }
      let push = try await bench.error(VerifyApp(app: Bench.app, deviceToken: Bench.token), user: Self.gateway)
      #expect(push.reason == "TRUSTED_OVER_HTTP")
      #expect(try await bench.count("verification") == 0 && bench.jobs().isEmpty)
      // A command of a service that the gateway publishes again is the service's, and the other way round.
      #expect(try await bench.ask(commands[0], user: "service").type == "verification.started.v1")
      let again = try bench.message(commands[0], user: Self.gateway)
        .publishedAgain(by: Topology.Users.operator, sender: Self.gateway)
      _ = bench.sink.takePublished()
      await bench.deliver([again])
      #expect(bench.replies.first?.type == "error.v1")
      // Apps with proofs are reached: an audited one without any.
      let audited = StartVerification(phoneNumber: "+14155550177", app: Bench.auditApp)
      #expect(try await bench.ask(audited, user: Self.gateway).type == "verification.started.v1")
    }
    let bench = try await Bench(Self.development)
    for command in commands {
      #expect(try await bench.ask(command, user: Self.gateway).type == "verification.started.v1")
    }
  }
}
