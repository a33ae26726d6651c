import Benchmarks
import FoundationEssentials
import ServiceRuntime

/// Options of the measurements over HTTP.
struct GatewayOptions: CommandOptions {
  let load: LoadOptions
  let key: String?
  let accounts: Int?

  init(_ reader: OptionReader) {
    load = LoadOptions(reader)
    key = reader.text("key", "KEY", "API key of the project: fake-api-key unless given.")
    accounts = reader.integer(
      "accounts", "NUMBER", in: 1...100_000, "Accounts that look-ups and refreshes are spread over: 200 unless given.")
  }

  var accountsOrDefault: Int { accounts ?? 200 }

  /// Pace that the options ask for. Apps wait for their answers, so fewer calls are in progress than commands.
  var pace: LoadPace {
    load.rate == nil ? .closedLoop(inProgress: load.inProgress ?? 64) : load.pace
  }

  func gateway() throws(BenchSetupError) -> GatewayLoad {
    let name = "COUNTERSIGN_GATEWAY_URL"
    guard let url = ProcessInfo.processInfo.environment[name], url.hasPrefix("http") else {
      throw BenchSetupError(.configuration, "set \(name): source .run/stack.env, or run deploy/bench")
    }
    return GatewayLoad(url: url, apiKey: key ?? "fake-api-key", app: load.app ?? "com.example.app")
  }
}

/// `bench lookups`.
enum LookUpBench {
  static let syntax = CommandSyntax(
    "lookups", "Looks anonymous accounts up over HTTP.", options: GatewayOptions.self)

  static func run(_ options: GatewayOptions, _ common: CommonOptions) async throws -> BenchReport {
    let result = try await options.gateway().lookUps(
      count: common.count ?? 10_000, accounts: options.accountsOrDefault, options.pace)
    return GatewayReport.report(result, "look-ups")
  }
}

enum RefreshBench {
  static let syntax = CommandSyntax(
    "refreshes", "Gets new ID tokens of anonymous accounts over HTTP.", options: GatewayOptions.self)

  static func run(_ options: GatewayOptions, _ common: CommonOptions) async throws -> BenchReport {
    let result = try await options.gateway().refreshes(
      count: common.count ?? 10_000, accounts: options.accountsOrDefault, options.pace)
    return GatewayReport.report(result, "refreshes")
  }
}

/// `bench sign-ins`.
enum SignInBench {
  static let syntax = CommandSyntax(
    "sign-ins", "Signs numbers in over HTTP, and simulates the provider that the workers' lane has to point to.",
    options: GatewayOptions.self)

  static func run(_ options: GatewayOptions, _ common: CommonOptions) async throws -> BenchReport {
    let result = try await options.gateway().signIns(
      count: common.count ?? 10_000, providerPort: options.load.providerPort, firstNumber: options.load.first ?? 0,
      options.pace)
    return GatewayReport.report(result, "sign-ins by phone")
  }
}

private enum GatewayReport {
  static func report(_ result: GatewayLoad.Result, _ name: String) -> BenchReport {
    BenchReport(
      text: loadText(
        "\(result.done) \(name), \(whole(result.rate)) a second", failed: result.failed,
        repeated: result.repeated > 0 ? "\(result.repeated) messages were sent twice" : nil,
        [("request to provider", result.requestToProvider), ("whole", result.whole)]),
      result: result, isSuccess: result.failed.isEmpty && result.repeated == 0)
  }
}
