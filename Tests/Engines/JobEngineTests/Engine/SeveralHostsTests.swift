import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime
import Testing

@testable import JobEngine

/// Workers of several hosts, each with a ledger of its own: a job that comes again may have been begun by another one.
@Suite struct SeveralHostsTests {
  private var options: JobWorkerOptions {
    var options = WorkerHarness.options
    options.hasOtherHosts = true
    return options
  }

  @Test(arguments: [OnUnknown.report, .resend])
  func `A redelivery without a row goes by its rule`(rule: OnUnknown) async throws {
    try await withWorker(options: options) { worker in
      try await worker.process(job(onUnknown: rule), isRedelivered: true)
      #expect(try worker.result().outcome == (rule == .resend ? .accepted : .unknown))
      #expect(worker.journal.contains(.performed("job-1", lane: "a")) == (rule == .resend))
    }
    try await withWorker { worker in
      try await worker.process(job(onUnknown: rule), isRedelivered: true)
      #expect(try worker.result().outcome == .accepted, "on one host the ledger knows every call")
    }
  }

  @Test func `A first delivery and what the ledger knows are as ever`()
    async throws
  {
    try await withWorker(options: options) { worker in
      try await worker.process(job())
      try await worker.process(job(), isRedelivered: true)
      #expect(
        worker.published(to: Topology.Exchanges.results).map(\.routingKey) == [
          "test.job.accepted", "test.job.accepted",
        ])
      #expect(worker.journal.count(of: .performed("job-1", lane: "a")) == 1)
    }
  }

  @Test func `Whatever a sender says of unknown calls, one more can be counted`() throws {
    var message = try job()
    message.headers["x-unknown-calls"] = 9_223_372_036_854_775_807
    #expect(WorkerHeader.unknownCalls(message) < 10_000_000)
    message.headers["x-unknown-calls"] = -1
    #expect(WorkerHeader.unknownCalls(message) == 0)
  }

  @Test func `A delay before the claim does not make it new`() async throws {
    let lanes = [LaneConfiguration(name: "a", concurrency: 1)]
    let ledger = MemoryLedger()
    ledger.fail([.claim])
    let delayed = Keeper()
    try await withWorker(lanes: lanes, ledger: ledger, options: options) { worker in
      try await worker.process(job(), isRedelivered: true)
      delayed.message = try worker.delayed().message
    }
    // On another host, where it is delivered for the first time.
    let message = try #require(delayed.message)
    #expect(message.headers["x-redeliveries"] == 1)
    try await withWorker(options: options) { worker in
      try await worker.process(message)
      #expect(try worker.result().outcome == .unknown)
    }
  }

  @Test func `A job that ended without a call is unknown too`() async throws {
    try await withWorker(options: options) { worker in
      try await worker.process(job(deadline: start - .seconds(1)), isRedelivered: true)
      #expect(try worker.result().outcome == .unknown)
    }
  }

  private final class Keeper: @unchecked Sendable {
    // Written by one test, in order.
    var message: Message?
  }

  private struct Probe: Configuration {
    static let lanes = [LaneConfiguration(name: "a", concurrency: 10), LaneConfiguration(name: "b", concurrency: 6)]
    let prefetch: Int

    init(_ section: ConfigurationSection) {
      let settings = WorkerSettings(section, ledgerPath: "ledger.sqlite")
      settings.checkPrefetch(for: Self.lanes, section)
      prefetch = settings.prefetch(for: Self.lanes)
    }
  }

  private func load(_ environment: [String: String]) -> String {
    do throws(ConfigurationError) {
      return "\(try Probe.load(file: nil, environment: environment).content.prefetch)"
    } catch {
      return "\(error)"
    }
  }

  @Test func `Prefetch is bounded`() {
    #expect(load([:]) == "48")
    #expect(load(["COUNTERSIGN_QUEUE_CONSUMERS": "severalHosts"]) == "32")
    #expect(load(["COUNTERSIGN_QUEUE_CONSUMERS": "severalHosts", "COUNTERSIGN_PREFETCH": "32"]) == "32")
    #expect(load(["COUNTERSIGN_QUEUE_CONSUMERS": "severalHosts", "COUNTERSIGN_PREFETCH": "33"]).contains("at most 32"))
    #expect(load(["COUNTERSIGN_QUEUE_CONSUMERS": "many"]).contains("severalHosts"))
  }
}
