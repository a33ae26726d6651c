import Benchmarks
import ServiceRuntime

/// Options of the measurements that send commands.
struct LoadOptions: CommandOptions {
  let providerPort: UInt16
  let inProgress, rate, first: Int?
  let app: String?

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
  }

  var pace: LoadPace {
    rate.map { .openLoop(perSecond: $0) } ?? .closedLoop(inProgress: inProgress ?? 1_024)
  }
}

enum VerificationBench {
  static let syntax = CommandSyntax(
    "verifications", "Verifies numbers, and simulates the provider that the workers' lane has to point to.",
    options: LoadOptions.self)

  static func run(_ options: LoadOptions, _ common: CommonOptions) async throws -> BenchReport {
    let load = VerificationLoad(
      endpoint: try BenchBroker.service.endpoint(), app: options.app ?? "com.example.app",
      providerPort: options.providerPort, firstNumber: options.first ?? 0)
    let result = try await load.run(count: common.count ?? 10_000, options.pace)
    return BenchReport(
      text: loadText(
        "\(result.approved) verifications approved, \(whole(result.rate)) a second", failed: result.failed,
        repeated: result.repeated > 0 ? "\(result.repeated) messages were sent twice" : nil,
        [("command to provider", result.commandToProvider), ("whole", result.whole)]),
      result: result, isSuccess: result.failed.isEmpty && result.repeated == 0)
  }
}

enum ProofBench {
  static let syntax = CommandSyntax(
    "proofs", "Proves apps by push, and simulates the devices, behind a front with TLS and HTTP/2.",
    options: LoadOptions.self)

  static func run(_ options: LoadOptions, _ common: CommonOptions) async throws -> BenchReport {
    let load = ProofLoad(
      endpoint: try BenchBroker.service.endpoint(), app: options.app ?? "com.example.push",
      providerPort: options.providerPort, firstDevice: options.first ?? 0)
    let result = try await load.run(count: common.count ?? 10_000, options.pace)
    return BenchReport(
      text: loadText(
        "\(result.proven) apps proven, \(whole(result.rate)) a second", failed: result.failed,
        repeated: result.repeated > 0 ? "\(result.repeated) pushes were sent twice" : nil,
        [("command to receipt", result.commandToReceipt), ("command to device", result.commandToDevice)]),
      result: result, isSuccess: result.failed.isEmpty)
  }
}

/// Report of a load, for people.
func loadText(
  _ title: String, failed: [String: Int], repeated: String?, _ latencies: [(name: String, summary: LatencySummary?)]
) -> String {
  var lines = [title]
  for (code, number) in failed.sorted(by: { $0.key < $1.key }) { lines.append("  \(number) failed: \(code)") }
  if let repeated { lines.append("  \(repeated)") }
  for case (let name, let latency?) in latencies {
    lines.append(
      "  \(name): median \(tenths(latency.median)) ms, 95 % \(tenths(latency.percentile95)) ms, "
        + "99 % \(tenths(latency.percentile99)) ms, most \(tenths(latency.maximum)) ms")
  }
  return lines.joined(separator: "\n")
}

private func tenths(_ number: Double) -> String {
  let tenths = Int((number * 10).rounded())
  return "\(tenths / 10).\(tenths % 10)"
}
