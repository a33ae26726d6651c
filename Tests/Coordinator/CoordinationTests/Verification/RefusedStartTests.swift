import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import PhoneNumbers
import TestSupport
import Testing

@testable import Coordination

@Suite struct RefusedStartTests {
  private static let rules = Bench.rules { rules in
    rules.limits[.refusedStartsPerAddressPerHour] = 3
    rules.limits.networkFactor = 2
    rules.regions = RegionRules(allowed: ["US"])
  }

  private func start(
    _ number: String, _ proof: StartVerification.Proof? = nil, app: String = Bench.pushApp, ip: String? = "192.0.2.1"
  ) -> StartVerification {
    StartVerification(phoneNumber: number, app: app, proof: proof, client: ip.map { .init(ip: $0) })
  }

  private static let madeUp: [StartVerification.Proof?] = [
    nil, Bench.pair("made up", "made up"), Bench.pair("made up", ""),
  ]

  @Test(arguments: 0..<3)
  func `Beyond so many, nobody learns which numbers are fictional; with a good proof real ones go on`(proof index: Int)
    async throws
  {
    let proof = Self.madeUp[index]
    let bench = try await Bench(Self.rules)
    let pair = try await bench.receipt()
    for number in 0..<3 {
      let error = try await bench.error(start("+1415555\(1000 + number)", proof))
      #expect(error.code != .tooManyAttempts && error.retryAfter == nil)
    }
    for number in [Bench.number, Bench.fictional] {
      let error = try await bench.error(start(number, proof))
      #expect(error.code == .tooManyAttempts && error.retryAfter == 3600 && error.field == "client.ip")
    }
    #expect(try await bench.ask(start(Bench.fictional, proof, ip: "198.51.100.1")).type == "verification.started.v1")
    #expect(
      try await bench.ask(start(Bench.number, Bench.pair(pair.receipt, pair.secret))).type
        == "verification.started.v1")
    #expect(bench.registry.render().contains(#"countersign_limited_total{limit="address_refused_starts"} 2"#))
    bench.clock.advance(by: .seconds(3600))
    #expect(try await bench.ask(start(Bench.fictional, proof)).type == "verification.started.v1")
  }

  @Test func `What else tells that a number is not fictional counts as well`() async throws {
    let bench = try await Bench(Self.rules)
    let codes = [
      try await bench.error(start("+33612345678", app: Bench.app)).code,
      try await bench.error(start(Bench.number, app: "closed")).code,
      try await bench.error(start(Bench.number, app: Bench.recaptchaApp)).code,
    ]
    #expect(codes == [.operationNotAllowed, .appNotVerified, .missingClientIdentifier])
    #expect(try await bench.error(start(Bench.fictional, app: Bench.app)).code == .tooManyAttempts)
  }

  @Test func `They cost nothing of other limits, and fill no table but that of the counts`() async throws {
    let bench = try await Bench(Self.rules)
    for _ in 0..<20 {
      for proof in Self.madeUp { _ = try await bench.error(start(Bench.number, proof)) }
    }
    #expect(try await bench.count("inbox") == 0)
    #expect(try await bench.count("counter") <= 2 * 4)
    // Those of the address and of its network alone.
    #expect(try await bench.dump("counter").split(separator: "\n").allSatisfy { $0.contains(":r|") })
  }

  @Test func `The network around an address has its own, and without an address nothing is counted`() async throws {
    let bench = try await Bench(Self.rules)
    for index in 0..<6 { _ = try await bench.error(start(Bench.number, ip: "192.0.2.\(index)")) }
    #expect(try await bench.error(start(Bench.fictional, ip: "192.0.2.200")).code == .tooManyAttempts)
    for _ in 0..<9 { #expect(try await bench.error(start(Bench.number, ip: nil)).code == .missingClientIdentifier) }
    #expect(try await bench.ask(start(Bench.fictional, ip: nil)).type == "verification.started.v1")
  }

  @Test(arguments: ["192.0.2.1", nil])
  func `One that was answered while its number was fictional gets that answer again`(ip: String?) async throws {
    let bench = try await Bench(Self.rules)
    let first = try await bench.ask(start(Bench.fictional, ip: ip), id: "m")
    #expect(first.type == "verification.started.v1")
    bench.rules.apps[Bench.pushApp]?.fictionalNumbers = [:]
    #expect(try await bench.ask(start(Bench.fictional, ip: ip), id: "m").body == first.body)
    try bench.changePepper()
    #expect(try await bench.ask(start(Bench.fictional, ip: ip), id: "m").body == first.body)
    let other = try ErrorReply(json: try await bench.ask(start(Bench.number, ip: ip), id: "m").body).error
    #expect(other.reason == "MESSAGE_ID_REUSED")
    // Repeated answers count against no address.
    for number in 0..<3 {
      #expect(try await bench.error(start("+1415555\(1000 + number)", ip: ip)).code == .missingClientIdentifier)
    }
  }

  @Test func `One that waits for reCAPTCHA goes on waiting when it would be refused by now, and is answered once`()
    async throws
  {
    let bench = try await Bench(Self.rules)
    let message = try bench.message(bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp))
    await bench.deliver([message])
    let job = try #require(try bench.published(RecaptchaAssessJob.self).first)
    bench.rules.apps[Bench.recaptchaApp]?.verification = .off
    _ = bench.sink.takePublished()
    await bench.deliver([message])
    #expect(bench.sink.published.isEmpty)
    try await bench.finish(RecaptchaAssessJob.self, job.id, .accepted)
    let replies = try bench.replies.map { try ErrorReply(json: $0.body).error.code }
    #expect(replies == [.appNotVerified])
  }
}
