import CountersignAMQP
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

@Suite struct OwnershipTests {
  @Test(arguments: StoreUnderTest.allCases)
  func `What is not ours is left, and published when it is ours after all`(_ kind: StoreUnderTest) async throws {
    try await FlowBench.with(kind) { bench in
      bench.store.own(false)
      let source = await bench.deliver(try bench.note("a", .job, .event))
      // The command is carried out, so it is answered.
      #expect(source.ackedCount == 1 && bench.replies.count == 1)
      #expect(bench.jobs.isEmpty && bench.events.isEmpty)
      #expect(try await bench.outbox() == 2)
      #expect(bench.logged("the session of the store was lost") == 1)
      // Claimed again, and lost again.
      await bench.maintenance.publishLeftovers()
      #expect(bench.jobs.isEmpty && bench.logged("the session of the store was lost") == 2)
      bench.store.own(true)
      await bench.maintenance.publishLeftovers()
      #expect(bench.jobs.count == 1 && bench.events.count == 1)
      #expect(try await bench.outbox() == 0)
    }
  }

  @Test
  func `A session that ends between commit and publication publishes nothing; who claims its messages does, once`()
    async throws
  {
    try await PostgreSQLUnderTest.with { database in
      let (clock, sink) = (ManualClock(), FlowBench.makeSink())
      let store = try await database.open()
      let first = FlowBench(store, clock, sink)
      let second = FlowBench(try await database.open(), clock, sink)
      for bench in [first, second] { try await bench.maintenance.begin() }
      first.store.afterCommit { [faulty = first.store] in
        faulty.afterCommit(nil)
        do { try await database.end(store) } catch { Issue.record(error) }
      }
      let command = try first.note("a", .job, .event)
      let source = await first.deliver(command)
      #expect(source.ackedCount == 1 && first.replies.count == 1)
      #expect(first.jobs.isEmpty && first.events.isEmpty)
      // Both look for leftovers at once.
      await withTaskGroup(of: Void.self) { group in
        for maintenance in [first.maintenance, second.maintenance] {
          group.addTask { await maintenance.publishLeftovers() }
        }
      }
      #expect(first.jobs.count == 1 && first.events.count == 1)
      #expect(try await first.outbox() == 0)
      // The command that comes again is answered alike, and sends nothing.
      await second.deliver(command)
      #expect(first.replies.count == 2 && Set(first.replies.map(\.body)).count == 1)
      #expect(first.jobs.count == 1)
    }
  }
}
