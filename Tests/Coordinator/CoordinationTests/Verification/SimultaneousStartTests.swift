import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

/// Several processes that work on the same number at the same time.
@Suite("Two starts of one number at once", .onSharedServer)
struct SimultaneousStartTests {
  enum Kind: String, CaseIterable, Sendable { case sqlite, postgresql }

  private static let numbers = (0..<40).map { "+141555501\($0 + 10)" }

  private static func with(
    _ kind: Kind, _ bench: Bench, _ body: ([any Store]) async throws -> Void
  ) async throws {
    switch kind {
    case .sqlite: try await body([bench.store, try await SQLiteStore(in: bench.database)])
    case .postgresql:
      let endpoint = try await PrivatePostgreSQL.shared.storeDatabase()
      let stores = [try await PostgreSQLStore.open(endpoint), try await PostgreSQLStore.open(endpoint)]
      let result: Result<Void, any Error>
      do { result = .success(try await body(stores)) } catch { result = .failure(error) }
      for store in stores { await store.close() }
      try result.get()
    }
  }

  private static func engine(_ bench: Bench, _ store: any Store, _ clock: ManualClock) -> EngineContext {
    EngineContext(
      bench.flows().registry, store: store, rules: bench.rules.engine, sink: bench.sink, author: Bench.author,
      clock: clock, metrics: bench.engineMetrics, logger: Logger(label: "test", sink: bench.logs))
  }

  @Test(arguments: Kind.allCases, [0, 5_000])
  func `They send one SMS, wherever the clocks stand`(_ kind: Kind, ahead: Int) async throws {
    let bench = try await Bench(
      Bench.rules([.sendsPerPrefixPer10Minutes: 1_000, .sendsToUnknownTypePerPrefixPer10Minutes: 1_000]))
    try await Self.with(kind, bench) { stores in
      // The clock goes on meanwhile, and no two commands have the same time.
      let clocks = [ManualClock(), ManualClock(ManualClock().now() + .milliseconds(ahead))]
      let engines = zip(stores, clocks).map { Self.engine(bench, $0, $1) }
      for number in Self.numbers {
        let start = StartVerification(phoneNumber: number, app: Bench.app)
        let sources = [try bench.message(start), try bench.message(start)].map {
          MemoryMessageSource([[Delivery(message: $0)]])
        }
        await withTaskGroup(of: Void.self) { group in
          for (engine, source) in zip(engines, sources) {
            group.addTask { await engine.commandPipeline(source).run() }
          }
        }
        for clock in clocks { clock.advance(by: .milliseconds(1)) }
      }
      let sent = bench.sink.published.filter { $0.exchange == Topology.Exchanges.jobs }
      let recipients = try sent.map { try SMSDispatchJob(json: $0.message.body).to }
      #expect(recipients.count == Self.numbers.count && Set(recipients).count == Self.numbers.count)
      let replies = bench.sink.published.filter { $0.exchange.isEmpty }
      #expect(replies.count == 2 * Self.numbers.count)
      #expect(Set(replies.map(\.message.type)) == ["verification.started.v1"])
    }
  }

  @Test func `Two writers that take the same events of a clock that was ahead back count them once`() async throws {
    let bench = try await Bench()
    try await Self.with(.postgresql, bench) { stores in
      let rule = LimitRule(sliding: "w", limit: 100, window: .seconds(600))
      let counter = try LimitCounter(.everybody, rule)
      let now = bench.clock.now()
      let load: @Sendable (UnixTime) -> StoreKeys = { time in
        var keys = StoreKeys()
        counter.addKeys(to: &keys, at: time)
        return keys
      }
      let ahead = now + .seconds(300)
      for _ in 0..<5 {
        _ = try await stores[0].transact(load(ahead), at: ahead) { set throws(StoreError) -> Void in
          counter.record(in: &set)
        }
      }
      _ = try await stores[0].transact(load(now), at: now) { [other = stores[1]] set throws(StoreError) -> Void in
        let isDone = DispatchSemaphore(value: 0)
        Task {
          _ = try? await other.transact(load(now), at: now) { set throws(StoreError) -> Void in
            counter.record(in: &set)
          }
          isDone.signal()
        }
        isDone.wait()
        counter.record(in: &set)
      }
      let window = counter.window(in: try await stores[0].read(load(now), at: now))
      // The one that was faster may be lost, the five are not.
      #expect((6...7).contains(window.count(at: now, rule)))
      #expect(window.cells.allSatisfy { $0.slot <= rule.rounded(now) })
    }
  }
}
