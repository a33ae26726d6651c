import CountersignAMQP
import FoundationEssentials
import ServiceRuntime

/// `deploy/bench` runs all of it on a stack of its own.
@main enum Bench {
  private static let syntax = CommandSyntax(
    "bench",
    "Measures broker, workers, coordinator, accounts and gateway. deploy/bench does all of it on a stack of its own.",
    discussion: """
      The broker comes from the environment:
        COUNTERSIGN_AMQP_URL           fill, verifications, proofs   amqp://sender:PASSWORD@HOST:PORT/VHOST
        COUNTERSIGN_OPERATOR_AMQP_URL  broker, drain                 amqp://operator:PASSWORD@HOST:PORT/VHOST
      so does the gateway, in development mode:
        COUNTERSIGN_GATEWAY_URL        lookups, refreshes, sign-ins  http://HOST:PORT

      Exit codes: 0 done, 1 verifications, proofs or calls failed, 64 wrong arguments, 66 a file cannot be read, 69 the broker or a worker
      does not answer, 78 a variable is missing or wrong.
      """,
    options: CommonOptions.self,
    subcommands: [BrokerBench.syntax, FillBench.syntax, DrainBench.syntax] + LoadBench.allCases.map(\.syntax))

  static func main() async {
    // Awaits on the main task are slow: the work runs on a task of its own.
    let task = Task.detached { await run(Array(CommandLine.arguments.dropFirst())) }
    ProcessExit.orderly(await task.value)
  }

  private static func run(_ arguments: [String]) async -> ExitCode {
    do {
      switch try syntax.parse(arguments) {
      case .help(let text):
        print(text, terminator: "")
        return .success
      case .run(let arguments): return try await run(arguments)
      }
    } catch {
      StandardError.print("bench: \(error)")
      return (error as? any ExitingError)?.exitCode ?? .unavailable
    }
  }

  private static func run(_ arguments: CommandArguments) async throws -> ExitCode {
    let common = try CommonOptions.read(arguments)
    let report =
      if let load = arguments.command.first.flatMap(LoadBench.init(rawValue:)) {
        try await load.run(try .read(arguments), common)
      } else if arguments.command == [FillBench.syntax.name] {
        try await FillBench.run(try .read(arguments), common)
      } else if arguments.command == [DrainBench.syntax.name] {
        try await DrainBench.run(try .read(arguments), common)
      } else {
        try await BrokerBench.run(common)
      }
    if common.json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      print(String(decoding: try encoder.encode(report.result), as: UTF8.self))
    } else {
      print(report.text)
    }
    return report.isSuccess ? .success : .failure
  }
}

struct CommonOptions: CommandOptions {
  let json: Bool
  let count: Int?

  init(_ reader: OptionReader) {
    json = reader.flag("json", "Print JSON, for programs.")
    count = reader.integer(
      "count", "NUMBER", in: 1...10_000_000, "Number of messages, jobs, verifications, proofs or calls.")
  }
}

struct BenchReport {
  let text: String
  let result: any Encodable
  var isSuccess = true
}

enum BenchBroker: String {
  case service = "COUNTERSIGN_AMQP_URL"
  case operatorUser = "COUNTERSIGN_OPERATOR_AMQP_URL"

  func endpoint() throws(BenchSetupError) -> BrokerEndpoint {
    guard let url = ProcessInfo.processInfo.environment[rawValue], !url.isEmpty else {
      throw BenchSetupError(.configuration, "set \(rawValue): source .run/stack.env, or run deploy/bench")
    }
    let endpoint: BrokerEndpoint
    do {
      endpoint = try BrokerEndpoint(url: url)
    } catch {
      throw BenchSetupError(.configuration, "\(rawValue): \(error.message)")
    }
    guard !endpoint.isUnprotected else {
      throw BenchSetupError(.configuration, "\(rawValue) is amqp:// to another machine: use amqps://")
    }
    return endpoint
  }
}

struct BenchSetupError: ExitingError {
  let exitCode: ExitCode
  let description: String

  init(_ exitCode: ExitCode, _ description: String) {
    self.exitCode = exitCode
    self.description = description
  }
}
