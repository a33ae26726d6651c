import Benchmarks
import CountersignCryptography
import CountersignMessages
import FoundationEssentials
import ServiceRuntime

enum BrokerBench {
  static let syntax = CommandSyntax("broker", "The broker alone: publish, relay and consume on quorum queues.")

  private static let bodyBytes = 700

  static func run(_ common: CommonOptions) async throws -> BenchReport {
    let count = common.count ?? 100_000
    let ceiling = BrokerCeiling(
      endpoint: try BenchBroker.operatorUser.endpoint(), messages: count, bodyBytes: bodyBytes)
    let result = try await ceiling.measure()
    return BenchReport(
      text: """
        broker alone, quorum queues, \(count) messages of \(bodyBytes) bytes:
          published and confirmed  \(whole(result.published)) messages/s
          relayed                  \(whole(result.relayed)) messages/s (consumed, published again, confirmed, acknowledged)
          consumed                 \(whole(result.consumed)) messages/s
        """,
      result: result)
  }
}

enum FillBench {
  static let syntax = CommandSyntax(
    "fill", "Puts jobs into the queue of a worker. They are real jobs: only for a stack of simulators.",
    options: Options.self)

  struct Options: CommandOptions {
    let type: BenchmarkJob?
    let keys: String?

    init(_ reader: OptionReader) {
      type = reader.word(
        "type", "TYPE", "Type of the jobs: sms.dispatch unless given, push.verify, apple.revoke or mail.relay.")
      keys = reader.text("keys", "FILE", "JWK set to seal the secrets with.")
    }
  }

  static func run(_ options: Options, _ common: CommonOptions) async throws -> BenchReport {
    let count = common.count ?? 100_000
    let type = options.type ?? .sms
    let load = JobLoad(endpoint: try BenchBroker.service.endpoint(), keys: try options.keys.map(keys))
    try await load.fill(count, with: type)
    return BenchReport(text: "\(count) jobs are in \(type.rawValue)", result: ["jobs": count])
  }

  private static func keys(_ file: String) throws(BenchSetupError) -> KeyRing {
    do {
      return try KeyRing(jwkSet: Array(Data(contentsOf: URL(filePath: file))))
    } catch {
      throw BenchSetupError(.noInput, "\(file) cannot be read as a JWK set")
    }
  }
}

enum DrainBench {
  static let syntax = CommandSyntax(
    "drain", "Waits for a number of results in the coordinator's queue, and measures their rate.",
    options: Options.self)

  struct Options: CommandOptions {
    let before: Int?

    init(_ reader: OptionReader) {
      before = reader.integer(
        "before", "NUMBER", in: 0...10_000_000, "Results that were in it before the jobs: none unless given.")
    }
  }

  static func run(_ options: Options, _ common: CommonOptions) async throws -> BenchReport {
    let count = common.count ?? 100_000
    let load = JobLoad(endpoint: try BenchBroker.operatorUser.endpoint())
    let rate = try await load.drainRate(count, before: options.before ?? 0, resultQueue: Topology.Queues.results)
    return BenchReport(text: "\(count) jobs ended at \(whole(rate)) jobs/s", result: ["jobsPerSecond": rate])
  }
}

func whole(_ number: Double) -> String { String(Int(number.rounded())) }
