import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import ServiceRuntime
import TestSupport
import Testing

@testable import Coordination

@Suite struct FictionalNumbersTests {
  @Test(arguments: AppVerification.allCases)
  func `In every mode one passes without a proof, and with a made-up one`(mode: AppVerification) async throws {
    let profile = AppProfile(
      id: "a", name: "A", verification: mode, fictionalNumbers: [Bench.fictional: "271828"])
    let bench = try await Bench(Bench.rules { $0.apps = ["a": profile] })
    let madeUp = SecretField(Secret("made up"))
    for proof in [
      nil, .init(receipt: "made up", secret: madeUp), .init(recaptchaToken: madeUp),
    ] as [StartVerification.Proof?] {
      for factor in [nil, "account"] {
        let started = try await bench.reply(
          to: StartVerification(
            phoneNumber: Bench.fictional, app: "a", proof: proof,
            purpose: factor.map { _ in .secondFactorSignIn }, subject: factor))
        #expect(started.testNumber && started.codeLength == 6)
        #expect(try bench.jobs().isEmpty)
        let approved = try await bench.reply(to: CheckVerification(started.verificationID, "271828"))
        #expect(approved.testNumber && approved.subject == factor)
      }
    }
    #expect(try await bench.count("counter") == 0)
  }

  @Test
  func `Requesters have nothing to do with each other: tests run at the same time, and only wrong codes are limited`()
    async throws
  {
    let profile = AppProfile(
      id: "a", name: "A", verification: .trusted, fictionalNumbers: [Bench.fictional: "271828"])
    let bench = try await Bench(Bench.rules { $0.apps = ["a": profile] })
    func start(_ requester: String?) async throws -> String {
      try await bench.start(Bench.fictional, app: "a", requester: requester).verificationID
    }
    var ids = [try await start(nil)]
    for index in 1..<40 { ids.append(try await start("test \(index)")) }
    #expect(Set(ids).count == 40)
    #expect(try await start(nil) == ids[0])
    #expect(try await start("test 7") == ids[7])
    for id in ids[0..<2] {
      for left in [4, 3, 2, 1] {
        #expect(try await bench.error(CheckVerification(id, "314159")).attemptsLeft == left)
      }
    }
    _ = try await bench.ask(CancelVerification(verificationID: ids[39]))
    for id in ids.dropLast() {
      #expect(try await bench.check(id, "271828").type == "verification.approved.v1")
    }
    #expect(try await start("test 7") != ids[7])
  }

  @Test(arguments: [AppVerification.off, .push, .recaptcha])
  func `A real number without a good proof is refused`(mode: AppVerification) async throws {
    let profile = AppProfile(
      id: "a", name: "A", verification: mode, fictionalNumbers: [Bench.fictional: "271828"])
    let bench = try await Bench(Bench.rules { $0.apps = ["a": profile] })
    _ = try await bench.error(StartVerification(phoneNumber: Bench.number, app: "a"))
    let proof = StartVerification.Proof(receipt: "made up", secret: SecretField(Secret("made up")))
    _ = try await bench.error(StartVerification(phoneNumber: Bench.number, app: "a", proof: proof))
    #expect(try await bench.count("verification") == 0)
  }

  @Test(
    arguments: [
      ("000000", true), ("123456", true), ("654321", true), ("987654", true), ("890123", true), ("121212", true),
      ("123123", true), ("271828", false), ("112233", false), ("100000", false),
    ])
  func `Codes that are tried first`(code: String, isGuessable: Bool) {
    #expect(FictionalCode.isGuessable(code) == isGuessable)
  }

  @Test func `Numbers are taken from a file that changes, and stay when it is wrong`() throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let key = Base64URL.encode(SecureRandom.bytes(32))
    try directory.write("0123456789abcdef0123456789abcdef\n", to: "pepper")
    try directory.write(#"{"keys":[{"kty":"oct","kid":"k","alg":"A256GCM","k":"\#(key)"}]}"#, to: "keys.json")
    func configure(_ numbers: String) throws -> String {
      try directory.write(
        """
        { broker: { url: 'amqp://localhost/' }, keysFile: 'keys.json', pepperFile: 'pepper',
          regions: { allowed: ['*'] },
          apps: { a: { name: 'A', verification: 'trusted', fictionalNumbers: { \(numbers) } } } }
        """, to: "coordinator.json5")
    }
    let file = try configure("'+16505550101': '271828'")
    let numbers = FictionalNumbers(try CoordinatorConfiguration.load(file: file, environment: [:]).content.rules)
    let metrics = MetricsRegistry()
    let sink = MemorySink()
    let watcher = FileWatcher.fictionalNumbers(
      file, environment: [:], numbers, log: Logger(label: "test", sink: sink), metrics: metrics)
    #expect(watcher.look() == .unchanged)
    _ = try configure("'+16505550102': '314159'")
    #expect(watcher.look() == .taken)
    #expect(numbers.code(of: "+16505550102", app: "a") == "314159" && numbers.code(of: "+16505550101", app: "a") == nil)
    for wrong in ["'+16505550103': '31415'", "'+16505550103': 1", "nonsense"] {
      _ = try configure(wrong)
      for _ in 0..<2 { #expect(watcher.look() == .refused) }
      #expect(numbers.code(of: "+16505550102", app: "a") == "314159")
    }
    let ten = (0..<11).map { "'+165055501\(10 + $0)': '27182\($0 % 10)'" }.joined(separator: ", ")
    _ = try configure(ten)
    #expect(watcher.look() == .refused)
    try FileManager.default.removeItem(atPath: file)
    #expect(watcher.look() == .refused)
    #expect(numbers.code(of: "+16505550102", app: "a") == "314159")
    // Each is counted once, however often it is tried.
    #expect(metrics.render().contains(#"countersign_fictional_numbers_reads_total{outcome="refused"} 5"#))
    // A file that it names was missing for a while.
    _ = try configure("'+16505550104': '161803'")
    let pepper = directory.path + "/pepper"
    try FileManager.default.moveItem(atPath: pepper, toPath: pepper + ".away")
    #expect(watcher.look() == .refused)
    try FileManager.default.moveItem(atPath: pepper + ".away", toPath: pepper)
    #expect(watcher.look() == .taken && watcher.look() == .unchanged)
    #expect(numbers.code(of: "+16505550104", app: "a") == "161803")
    // What changed before a standby began to look is seen as well.
    let standby = FictionalNumbers(try CoordinatorConfiguration.load(file: file, environment: [:]).content.rules)
    _ = try configure("'+16505550105': '141421'")
    let late = FileWatcher.fictionalNumbers(
      file, environment: [:], standby, log: Logger(label: "test", sink: sink), metrics: MetricsRegistry())
    #expect(late.look() == .taken && late.look() == .unchanged)
    #expect(standby.code(of: "+16505550105", app: "a") == "141421")
  }
}
