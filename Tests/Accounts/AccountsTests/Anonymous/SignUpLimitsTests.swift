import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite struct SignUpLimitsTests {
  private func with(
    _ limit: Limit, _ figure: Int, networkFactor: Int = 10, _ body: (AccountsBench) async throws -> Void
  ) async throws {
    try await AccountsBench.with(
      {
        $0.limits[limit] = figure
        $0.limits.networkFactor = networkFactor
      }, body)
  }

  private func signUp(_ bench: AccountsBench, _ project: String = AccountsBench.project, from ips: [String])
    async throws
    -> Int
  {
    let messages = try ips.map { ip in
      var command = SignUp(project: project, replyKey: bench.replyKey.publicKey.jwk)
      command.client = StartVerification.Client(ip: ip)
      return try bench.message(command, id: bench.nextID())
    }
    await bench.deliver(batch: messages)
    return bench.sink.published.count { $0.exchange.isEmpty && $0.message.type == AccountSignedIn.type.text }
  }

  private func refusal(_ bench: AccountsBench, from ip: String) async throws -> APIError {
    var command = SignUp(project: AccountsBench.project, replyKey: bench.replyKey.publicKey.jwk)
    command.client = StartVerification.Client(ip: ip)
    return try await bench.error(command)
  }

  private func outcome(_ bench: AccountsBench, _ outcome: String) -> Int {
    value(bench, #"countersign_anonymous_sign_ups_total{outcome="\#(outcome)"} "#)
  }

  private func refused(_ bench: AccountsBench, _ limit: String) -> Int {
    value(bench, #"countersign_account_limit_refusals_total{limit="anonymous_\#(limit)"} "#)
  }

  private func value(_ bench: AccountsBench, _ series: String) -> Int {
    let line = bench.registry.render().split(separator: "\n").first { $0.hasPrefix(series) }
    return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? -1
  }

  @Test(arguments: [true, false])
  func `The network around an address, an IPv4 /24 or IPv6 /48, makes so many times as many`(isIPv4: Bool) async throws
  {
    func address(_ network: Int, _ index: Int) -> String {
      isIPv4 ? "192.0.\(network).\(index)" : "2001:db8:\(network):\(index)::1"
    }
    try await with(.anonymousPerAddress, 2, networkFactor: 3) { bench in
      #expect(try await signUp(bench, from: (1...20).map { address(1, $0) }) == 6)
      let error = try await refusal(bench, from: address(1, 30))
      #expect(error.code == .tooManyAttempts && error.reason == "ANONYMOUS_LIMIT" && error.message.contains("network"))
      #expect((3600...3660).contains(error.retryAfter ?? 0))
      #expect(try await signUp(bench, from: (1...20).map { _ in address(2, 1) }) == 2)
      #expect(try await signUp(bench, AccountsBench.otherProject, from: [address(1, 1)]) == 1)
      #expect(refused(bench, "network") == 15 && refused(bench, "address") == 18)
      bench.clock.advance(by: .seconds(3660))
      #expect(try await signUp(bench, from: [address(1, 1)]) == 1)
    }
  }

  @Test func `Beyond the budget of a day only networks with fewer than ten make more`() async throws {
    try await with(.anonymousPerDay, 20) { bench in
      #expect(try await signUp(bench, from: Array(repeating: "192.0.2.1", count: 12)) == 12)
      #expect(try await signUp(bench, from: (1...8).map { "198.51.\($0).1" }) == 8)
      #expect(outcome(bench, "made") == 20 && outcome(bench, "made_beyond_budget") == 0)
      // The network that made many, from another of its addresses; and one that has made none.
      let error = try await refusal(bench, from: "192.0.2.200")
      let midnight = 86_400 - bench.clock.now().seconds % 86_400
      #expect(error.code == .tooManyAttempts && error.retryAfter == Int(midnight))
      #expect(try await signUp(bench, from: Array(repeating: "203.0.113.1", count: 15)) == 10)
      #expect(outcome(bench, "made_beyond_budget") == 10 && refused(bench, "day") == 6)
      // Another project, and the next day.
      #expect(try await signUp(bench, AccountsBench.otherProject, from: ["192.0.2.1"]) == 1)
      bench.clock.advance(by: .seconds(midnight))
      #expect(try await signUp(bench, from: ["192.0.2.1"]) == 1)
    }
  }

  @Test func `The budget of a day grows with the median of the seven days before`() async throws {
    try await with(.anonymousPerDay, 10) { bench in
      // Three days without accounts, one with very many, three with some: the median is that of those.
      for count in [0, 0, 0, 99, 4, 3, 5] {
        let made = try await signUp(bench, from: (0..<count).map { "198.51.\($0).1" })
        #expect(made == count)
        bench.clock.advance(by: .seconds(86_400))
      }
      #expect(try await signUp(bench, from: Array(repeating: "192.0.2.1", count: 60)) == 30)
      // With six days later only today among the days before.
      bench.clock.advance(by: .seconds(6 * 86_400))
      #expect(try await signUp(bench, from: Array(repeating: "192.0.2.1", count: 60)) == 10)
    }
  }
}
