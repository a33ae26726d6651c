import Benchmarks
import FoundationEssentials
import ServiceRuntime

enum LoadBench: String, CaseIterable {
  case verifications, proofs, lookups, refreshes
  case signIns = "sign-ins"

  var syntax: CommandSyntax { CommandSyntax(rawValue, summary, options: LoadOptions.self) }

  private var summary: String {
    switch self {
    case .verifications: "Verifies numbers, and simulates the provider that the workers' lane has to point to."
    case .proofs: "Proves apps by push, and simulates the devices, behind a front with TLS and HTTP/2."
    case .lookups: "Looks anonymous accounts up over HTTP."
    case .refreshes: "Gets new ID tokens of anonymous accounts over HTTP."
    case .signIns: "Signs numbers in over HTTP, and simulates the provider that the workers' lane has to point to."
    }
  }

  private var words: (done: String, first: String, whole: String) {
    switch self {
    case .verifications: ("verifications approved", "command to provider", "whole")
    case .proofs: ("apps proven", "command to receipt", "command to device")
    case .lookups: ("look-ups", "", "whole")
    case .refreshes: ("refreshes", "", "whole")
    case .signIns: ("sign-ins by phone", "request to provider", "whole")
    }
  }

  func run(_ options: LoadOptions, _ common: CommonOptions) async throws -> BenchReport {
    let result = try await measure(options, common.count ?? 10_000)
    var lines = ["\(result.done) \(words.done), \(whole(result.rate)) a second"]
    for (code, number) in result.failed.sorted(by: { $0.key < $1.key }) { lines.append("  \(number) failed: \(code)") }
    if result.repeated > 0 {
      lines.append("  \(result.repeated) \(self == .proofs ? "pushes" : "messages") were sent twice")
    }
    for case (let name, let latency?) in [(words.first, result.first), (words.whole, result.whole)] {
      lines.append(
        "  \(name): median \(tenths(latency.median)) ms, 95 % \(tenths(latency.percentile95)) ms, "
          + "99 % \(tenths(latency.percentile99)) ms, most \(tenths(latency.maximum)) ms")
    }
    // A second push is harmless.
    return BenchReport(
      text: lines.joined(separator: "\n"), result: result,
      isSuccess: result.failed.isEmpty && (result.repeated == 0 || self == .proofs))
  }

  private func measure(_ options: LoadOptions, _ count: Int) async throws -> LoadResult {
    let (commands, calls) = (options.pace(inProgress: 1_024), options.pace(inProgress: 64))
    switch self {
    case .verifications: return try await options.commands("com.example.app").verifications(count, commands)
    case .proofs: return try await options.commands("com.example.push").proofs(count, commands)
    case .lookups: return try await options.gateway().lookUps(count, accounts: options.accounts ?? 200, calls)
    case .refreshes: return try await options.gateway().refreshes(count, accounts: options.accounts ?? 200, calls)
    case .signIns:
      return try await options.gateway().signIns(
        count, providerPort: options.providerPort, first: options.first ?? 0, calls)
    }
  }

  private func tenths(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}

struct LoadOptions: CommandOptions {
  let providerPort: UInt16
  let inProgress, rate, first, accounts: Int?
  let app, key: String?

  init(_ reader: OptionReader) {
    let port = reader.integer(
      "provider-port", "PORT", in: 1...65_535,
      "Port of 127.0.0.1 that the workers, or the front before them, send requests to: 5709 unless given.")
    providerPort = UInt16(port ?? 5_709)
    inProgress = reader.integer(
      "in-progress", "NUMBER", in: 1...4_096,
      "Number in progress at once, without --rate: 1024 unless given, or 64 calls over HTTP.")
    rate = reader.integer("rate", "NUMBER", in: 1...10_000, "Number to start each second, however long they take.")
    first = reader.integer(
      "first", "NUMBER", in: 0...100_000_000, "Number of the first phone number or device, different in each run.")
    app = reader.text(
      "app", "APP",
      "App: one whose callers are trusted (com.example.app), for proofs one with push (com.example.push).")
    key = reader.text("key", "KEY", "For calls over HTTP: API key of the project. fake-api-key unless given.")
    accounts = reader.integer(
      "accounts", "NUMBER", in: 1...100_000, "Accounts that look-ups and refreshes are spread over: 200 unless given.")
  }

  func pace(inProgress most: Int) -> LoadPace {
    rate.map { .openLoop(perSecond: $0) } ?? .closedLoop(inProgress: inProgress ?? most)
  }

  func commands(_ defaultApp: String) throws -> CommandLoad {
    CommandLoad(
      endpoint: try BenchBroker.service.endpoint(), app: app ?? defaultApp, providerPort: providerPort,
      first: first ?? 0)
  }

  func gateway() throws(BenchSetupError) -> GatewayLoad {
    let name = "COUNTERSIGN_GATEWAY_URL"
    guard let url = ProcessInfo.processInfo.environment[name], url.hasPrefix("http") else {
      throw BenchSetupError(.configuration, "set \(name): source .run/stack.env, or run deploy/bench")
    }
    return GatewayLoad(url: url, apiKey: key ?? "fake-api-key", app: app ?? "com.example.app")
  }
}
