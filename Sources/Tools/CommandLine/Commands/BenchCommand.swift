internal import Benchmarks
internal import CountersignAMQP
internal import CountersignCryptography
internal import CountersignMessages
internal import FoundationEssentials
internal import ServiceRuntime

/// `countersign bench`: what broker, workers and coordinator do, in figures.
struct BenchCommand {
  let backend: any OperatorBackend

  private static let counts = 1...10_000_000
  private static let bodyBytes = 700

  func run(_ arguments: CommandArguments) async throws -> CommandOutput {
    do {
      switch arguments.command.last {
      case "broker": return try await broker(arguments)
      case "fill": return try await fill(arguments)
      case "drain": return try await drain(arguments)
      case "proofs": return try await proofs(arguments)
      default: return try await verifications(arguments)
      }
    } catch let error as AMQPError {
      throw OperationsError(error)
    } catch let error as BenchmarkError {
      throw OperationsError(.unavailable, error.description)
    }
  }

  private func broker(_ arguments: CommandArguments) async throws -> CommandOutput {
    let count = try arguments.integer("count", in: Self.counts) ?? 100_000
    let ceiling = BrokerCeiling(
      endpoint: try backend.endpoints().operatorUser, messages: count, bodyBytes: Self.bodyBytes)
    let result = try await ceiling.measure()
    return CommandOutput(
      text: """
        broker alone, quorum queues, \(count) messages of \(Self.bodyBytes) bytes:
          published and confirmed  \(Self.whole(result.published)) messages/s
          relayed                  \(Self.whole(result.relayed)) messages/s (consumed, published again, confirmed, acknowledged)
          consumed                 \(Self.whole(result.consumed)) messages/s
        """,
      json: .object([
        "publishedPerSecond": .number(result.published), "relayedPerSecond": .number(result.relayed),
        "consumedPerSecond": .number(result.consumed),
      ]))
  }

  private func fill(_ arguments: CommandArguments) async throws -> CommandOutput {
    let count = try arguments.integer("count", in: Self.counts) ?? 100_000
    let keys = try arguments.value("keys").map { try KeyRing(jwkSet: InputFile.read($0, limit: KeyRing.maxSetBytes)) }
    let kind = try Self.kind(arguments)
    try await JobLoad(endpoint: try backend.endpoints().service, keys: keys).fill(count, with: kind)
    return CommandOutput(
      text: "\(count) jobs are in \(kind.rawValue)", json: .object(["jobs": .integer(Int64(count))]))
  }

  private static func kind(_ arguments: CommandArguments) throws(OperationsError) -> BenchmarkJob {
    guard let name = arguments.value("type") else { return .sms }
    if let kind = BenchmarkJob(rawValue: name) { return kind }
    let names = BenchmarkJob.allCases.map(\.rawValue).joined(separator: ", ")
    throw OperationsError(.usage, "--type must be one of \(names)")
  }

  private func drain(_ arguments: CommandArguments) async throws -> CommandOutput {
    let count = try arguments.integer("count", in: Self.counts) ?? 100_000
    let load = JobLoad(endpoint: try backend.endpoints().operatorUser)
    let before = try arguments.integer("before", in: 0...Self.counts.upperBound) ?? 0
    let rate = try await load.drainRate(count, before: before, resultQueue: Topology.Queues.results)
    return CommandOutput(
      text: "\(count) jobs ended at \(Self.whole(rate)) jobs/s", json: .object(["jobsPerSecond": .number(rate)]))
  }

  private func verifications(_ arguments: CommandArguments) async throws -> CommandOutput {
    let count = try arguments.integer("count", in: Self.counts) ?? 10_000
    let load = VerificationLoad(
      endpoint: try backend.endpoints().service, app: arguments.value("app") ?? "com.example.app",
      providerPort: UInt16(try arguments.integer("provider-port", in: 1...65_535) ?? 5_709),
      firstNumber: try arguments.integer("first", in: 0...100_000_000) ?? 0)
    let result =
      if let rate = try arguments.integer("rate", in: 1...10_000) {
        try await load.openLoop(count: count, perSecond: rate)
      } else {
        try await load.closedLoop(count: count, underWay: try arguments.integer("under-way", in: 1...4_096) ?? 1_024)
      }
    return CommandOutput(
      text: Self.text(result), json: Self.json(result),
      exitCode: result.failed.isEmpty && result.repeated == 0 ? .success : .failure)
  }

  private func proofs(_ arguments: CommandArguments) async throws -> CommandOutput {
    let count = try arguments.integer("count", in: Self.counts) ?? 10_000
    let load = ProofLoad(
      endpoint: try backend.endpoints().service, app: arguments.value("app") ?? "com.example.push",
      providerPort: UInt16(try arguments.integer("provider-port", in: 1...65_535) ?? 5_709),
      firstDevice: try arguments.integer("first", in: 0...100_000_000) ?? 0)
    let result =
      if let rate = try arguments.integer("rate", in: 1...10_000) {
        try await load.openLoop(count: count, perSecond: rate)
      } else {
        try await load.closedLoop(count: count, underWay: try arguments.integer("under-way", in: 1...4_096) ?? 1_024)
      }
    return CommandOutput(
      text: Self.text(result), json: Self.json(result), exitCode: result.failed.isEmpty ? .success : .failure)
  }

  private static func text(_ result: VerificationLoad.Result) -> String {
    text(
      "\(result.approved) verifications approved, \(whole(result.rate)) a second", failed: result.failed,
      repeated: result.repeated > 0 ? "\(result.repeated) messages were sent twice" : nil,
      [("command to provider", result.commandToProvider), ("whole", result.whole)])
  }

  private static func text(_ result: ProofLoad.Result) -> String {
    text(
      "\(result.proven) apps proven, \(whole(result.rate)) a second", failed: result.failed,
      repeated: result.repeated > 0 ? "\(result.repeated) pushes were sent twice" : nil,
      [("command to receipt", result.commandToReceipt), ("command to device", result.commandToDevice)])
  }

  private static func text(
    _ title: String, failed: [String: Int], repeated: String?, _ latencies: [(what: String, summary: LatencySummary?)]
  ) -> String {
    var lines = [title]
    for (code, number) in failed.sorted(by: { $0.key < $1.key }) { lines.append("  \(number) failed: \(code)") }
    if let repeated { lines.append("  \(repeated)") }
    for case (let what, let latency?) in latencies {
      lines.append(
        "  \(what): median \(tenths(latency.median)) ms, 95 % \(tenths(latency.percentile95)) ms, "
          + "99 % \(tenths(latency.percentile99)) ms, most \(tenths(latency.maximum)) ms")
    }
    return lines.joined(separator: "\n")
  }

  private static func json(_ result: VerificationLoad.Result) -> JSONValue {
    .object([
      "approved": .integer(Int64(result.approved)), "perSecond": .number(result.rate), "failed": json(result.failed),
      "repeated": .integer(Int64(result.repeated)), "commandToProvider": json(result.commandToProvider),
      "whole": json(result.whole),
    ])
  }

  private static func json(_ result: ProofLoad.Result) -> JSONValue {
    .object([
      "proven": .integer(Int64(result.proven)), "perSecond": .number(result.rate), "failed": json(result.failed),
      "repeated": .integer(Int64(result.repeated)), "commandToReceipt": json(result.commandToReceipt),
      "commandToDevice": json(result.commandToDevice),
    ])
  }

  private static func json(_ failed: [String: Int]) -> JSONValue {
    .object(failed.mapValues { .integer(Int64($0)) })
  }

  private static func json(_ summary: LatencySummary?) -> JSONValue {
    guard let summary else { return .null }
    return .object([
      "medianMilliseconds": .number(summary.median), "percentile95Milliseconds": .number(summary.percentile95),
      "percentile99Milliseconds": .number(summary.percentile99), "maximumMilliseconds": .number(summary.maximum),
    ])
  }

  private static func whole(_ number: Double) -> String { String(Int(number.rounded())) }

  private static func tenths(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}
