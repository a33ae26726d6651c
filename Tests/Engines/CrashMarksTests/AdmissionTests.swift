import CountersignAMQP
import CountersignTelemetry
import RecordStore
import Synchronization
import TestSupport
import Testing

@testable import CrashMarks

/// Marks in memory, whose owner can be made to die.
private final class MemoryMarks: MarkStore {
  struct State {
    var rows: [MessageKey: MarkRecord] = [:]
    var isBroken = false
    var writes: [Int] = []
    var isDead = false
  }

  let state = Mutex(State())

  func find(_ keys: [MessageKey]) async throws(StoreError) -> [MessageKey: MarkStanding] {
    try check()
    return state.withLock { state in
      keys.reduce(into: [:]) { found, key in found[key] = state.rows[key].map { MarkStanding([$0]) } }
    }
  }

  func write(_ marks: [NewMark], at now: UnixTime) async throws(StoreError) {
    try check()
    state.withLock { state in
      state.writes.append(marks.count)
      for mark in marks {
        state.rows[mark.key] = MarkRecord(
          number: 1, owner: .ourselves, isAlone: mark.isAlone, isSuspect: mark.standing.isSuspect,
          deaths: mark.standing.deaths, begun: mark.standing.begun)
      }
    }
  }

  func relax(_ key: MessageKey) async throws(StoreError) { change([key]) { $0?.isAlone = false } }

  func remove(_ keys: [MessageKey]) async throws(StoreError) { change(keys) { $0 = nil } }

  func giveBack(_ keys: [MessageKey]) async throws(StoreError) {
    change(keys) { row in
      row?.owner = .nobody
      row?.isAlone = false
      row?.begun += 1
    }
  }

  func release() async throws(StoreError) {}

  func close() async {}

  /// The process that wrote the marks has ended.
  func die() {
    state.withLock { state in
      state.isDead = true
      for key in state.rows.keys { state.rows[key]?.owner = .dead }
    }
  }

  func restart() { state.withLock { $0.isDead = false } }

  private func change(_ keys: [MessageKey], _ body: (inout MarkRecord?) -> Void) {
    state.withLock { state in
      for key in keys where !state.isDead { body(&state.rows[key]) }
    }
  }

  private func check() throws(StoreError) {
    if state.withLock({ $0.isBroken }) { throw StoreError(.full, "full") }
  }
}

extension Patience {
  /// Never over until it is canceled.
  // It ends early with its task.
  fileprivate static let endless = Patience { try? await Task.sleep(for: .seconds(86_400)) }
  fileprivate static let none = Patience {}
}

private final class ManualTime: Sendable {
  private struct State {
    var now: Duration = .zero
    var sleepers: [(due: Duration, wait: Wait)] = []
  }

  private let state = Mutex(State())

  var isWaitedFor: Bool { state.withLock { !$0.sleepers.isEmpty } }

  func patience(_ duration: Duration) -> Patience {
    Patience { [self] in
      let wait = Wait()
      state.withLock { $0.sleepers.append(($0.now + duration, wait)) }
      await withTaskCancellationHandler {
        _ = await wait.value(.endless)
      } onCancel: {
        wait.finish(false)
      }
    }
  }

  func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now += duration
      defer { state.sleepers.removeAll { $0.due <= state.now } }
      return state.sleepers.filter { $0.due <= state.now }
    }
    for sleeper in due { sleeper.wait.finish(true) }
  }

  func clear() { state.withLock { $0.sleepers = [] } }
}

private final class Tally: Sendable {
  private let stored = Mutex(0)

  var value: Int { stored.withLock { $0 } }

  func add(_ amount: Int) { stored.withLock { $0 += amount } }
}

@Suite struct AdmissionTests {
  private let store = MemoryMarks()
  private let gate = TrialGate()
  private let registry = MetricsRegistry()
  private let logs = MemorySink()

  private func marks(
    _ patience: Patience = .endless, quiet: Patience = .endless, store: (any MarkStore)?, atOnce: Int = 1
  ) -> CrashMarks {
    CrashMarks(
      queue: "q", store: store, order: .any(stepsAtOnce: atOnce), gate: gate,
      trial: TrialPatience(quiet: quiet, alone: patience),
      clock: ManualClock(),
      logger: Logger(label: "test", sink: logs), metrics: registry)
  }

  private static func delivery(_ number: Int, count: Int = 1) -> Delivery {
    Delivery(
      message: Message(headers: ["x-delivery-count": .int(Int64(count))], messageID: "m\(number)"),
      tag: DeliveryTag(number: UInt64(number)), isRedelivered: true)
  }

  private static func admit(
    _ deliveries: [Delivery], _ marks: CrashMarks,
    _ work: @escaping @Sendable (MarkedStep) async -> Set<DeliveryTag>
  ) async {
    await withTaskGroup(of: Void.self) { group in
      await marks.admit(deliveries, spawn: { work in group.addTask { await work() } }, work: work)
    }
  }

  @Test func `Sixteen messages share one write and leave nothing`() async {
    let sizes = Mutex<[Int]>([])
    await Self.admit((0..<40).map { Self.delivery($0) }, marks(store: store)) { [store] step in
      sizes.withLock { $0.append(step.deliveries.count) }
      // Whatever is done with a message, its mark stands by then.
      #expect(step.keys.allSatisfy { key in store.state.withLock { $0.rows[key] != nil } })
      return []
    }
    #expect(sizes.withLock { $0 } == [16, 16, 8])
    #expect(store.state.withLock { $0.writes } == [16, 16, 8])
    #expect(store.state.withLock { $0.rows.isEmpty })
  }

  @Test func `Members of a dead group are the only ones in the process`()
    async
  {
    let deliveries = [Self.delivery(1), Self.delivery(2)]
    await Self.admit(deliveries, marks(store: store)) { [store] _ in
      store.die()
      return []
    }
    store.restart()
    let working = Tally()
    await Self.admit(deliveries, marks(store: store, atOnce: 4)) { [gate, store] step in
      #expect(step.treatment == .alone)
      #expect(store.state.withLock { $0.rows[step.keys[0]]?.isAlone } == true)
      working.add(1)
      // Somebody else of the process, who has to wait.
      Task {
        await gate.enter()
        #expect(working.value == 0)
        gate.leave()
      }
      for _ in 0..<100 { await Task.yield() }
      working.add(-1)
      return []
    }
    await gate.enter()
    #expect(registry.render().contains("countersign_crash_marks_found_total{queue=\"q\"} 2"))
  }

  @Test func `Work from outside waits while a message is alone`() async {
    store.state.withLock { $0.rows[MessageKey(Self.delivery(1), queue: "q")] = MarkRecord(number: 1, owner: .dead) }
    let isAlone = Tally()
    let reports = Tally()
    await Self.admit([Self.delivery(1)], marks(store: store)) { [gate] step in
      #expect(step.treatment == .alone)
      isAlone.add(1)
      Task {
        await gate.aside(patience: .endless) {
          #expect(isAlone.value == 0)
          reports.add(1)
        }
      }
      for _ in 0..<100 { await Task.yield() }
      #expect(reports.value == 0)
      isAlone.add(-1)
      return []
    }
    while reports.value == 0 { await Task.yield() }
  }

  @Test func `Work from outside goes on while messages under way are waited for`() async {
    await gate.enter()
    let trial = Task { [gate] in await gate.beginTrial(.endless) }
    // Until the trial has its turn nothing waits, and afterwards only messages do.
    for _ in 0..<100 { await Task.yield() }
    #expect(await gate.aside(patience: .endless) { true })
    gate.leave()
    #expect(await trial.value)
    gate.endTrial()
  }

  @Test func `A trial waits for work from outside that is under way`()
    async
  {
    let begun = Tally()
    let ended = Tally()
    let report = Task { [gate] in
      await gate.aside(patience: .endless) {
        begun.add(1)
        while ended.value == 0 { await Task.yield() }
      }
    }
    while begun.value == 0 { await Task.yield() }
    let trial = Task { [gate] in
      let isQuiet = await gate.beginTrial(.endless)
      #expect(ended.value == 1)
      return isQuiet
    }
    for _ in 0..<100 { await Task.yield() }
    ended.add(1)
    #expect(await trial.value)
    await report.value
    gate.endTrial()
  }

  @Test func `Work from outside begins when its patience is over`() async {
    #expect(await gate.beginTrial(.endless))
    #expect(await gate.aside(patience: .none) { true })
    gate.endTrial()
    // It has left: the next trial finds the process quiet.
    #expect(await gate.beginTrial(.none))
    gate.endTrial()
  }

  @Test func `A repeat culprit is counted in a busy process`() async throws {
    let time = ManualTime()
    let seen = Mutex<[MarkTreatment]>([])
    store.state.withLock { $0.rows[MessageKey(Self.delivery(1), queue: "q")] = MarkRecord(number: 1, owner: .dead) }
    for _ in 0..<4 {
      store.restart()
      time.clear()
      // A job that waits for a slot and is called then.
      await gate.enter()
      let marks = marks(
        time.patience(CrashMarks.patience), quiet: time.patience(CrashMarks.quietPatience), store: store)
      async let admission: Void = Self.admit([Self.delivery(1)], marks) { [store] step in
        seen.withLock { $0.append(step.treatment) }
        store.die()
        return []
      }
      while !time.isWaitedFor { await Task.yield() }
      let count = seen.withLock { $0.count }
      time.advance(by: .seconds(70))
      for _ in 0..<100 { await Task.yield() }
      #expect(seen.withLock { $0.count } == count)
      gate.leave()
      await admission
    }
    #expect(seen.withLock { $0 } == [.alone, .alone, .alone, .bury])
  }

  @Test func `Waiters are let in between two trials`() async {
    let gate = gate
    let passed = Tally()
    #expect(await gate.beginTrial(.endless))
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        await gate.enter()
        for _ in 0..<100 { await Task.yield() }
        passed.add(1)
        gate.leave()
      }
      group.addTask {
        #expect(await gate.beginTrial(.endless))
        #expect(passed.value == 1)
        gate.endTrial()
      }
      for _ in 0..<1000 { await Task.yield() }
      gate.endTrial()
    }
  }

  @Test func `Suspects are shown until they are over`() async {
    let numbers = 1...3
    store.state.withLock { state in
      for number in numbers {
        state.rows[MessageKey(Self.delivery(number), queue: "q")] = MarkRecord(number: 1, owner: .dead)
      }
    }
    let shown = Mutex<[Bool]>([])
    let left = Tally()
    left.add(3)
    await Self.admit(numbers.map { Self.delivery($0) }, marks(store: store)) { [registry] _ in
      let line = "countersign_crash_suspects{queue=\"q\"} \(left.value)"
      shown.withLock { $0.append(registry.render().contains(line)) }
      left.add(-1)
      return []
    }
    #expect(shown.withLock { $0 } == [true, true, true])
    #expect(registry.render().contains("countersign_crash_suspects{queue=\"q\"} 0"))
  }

  @Test func `Beside what never ends a message is not alone`() async {
    await gate.enter()
    store.state.withLock { $0.rows[MessageKey(Self.delivery(1), queue: "q")] = MarkRecord(number: 1, owner: .dead) }
    await Self.admit([Self.delivery(1)], marks(quiet: .none, store: store)) { [store] step in
      #expect(store.state.withLock { $0.rows[step.keys[0]]?.isAlone } == false)
      return []
    }
    gate.leave()
  }

  @Test func `A message that takes long is no longer alone when others go on`() async {
    store.state.withLock { $0.rows[MessageKey(Self.delivery(1), queue: "q")] = MarkRecord(number: 1, owner: .dead) }
    await Self.admit([Self.delivery(1)], marks(.none, store: store)) { [gate, store] step in
      // Its time is over at once: whoever waits gets in while it goes on.
      await gate.enter()
      #expect(store.state.withLock { $0.rows[step.keys[0]]?.isAlone } == false)
      gate.leave()
      return []
    }
    #expect(store.state.withLock { $0.rows.isEmpty })
  }

  @Test func `Three deaths alone and it is buried unread`() async {
    for expected: MarkTreatment in [.group, .alone, .alone, .alone, .bury, .leave] {
      store.restart()
      await Self.admit([Self.delivery(1)], marks(store: store)) { [store] step in
        #expect(step.treatment == expected)
        store.die()
        return []
      }
    }
    let deaths = logs.events.filter { $0.message == "a process died while it worked on this message alone" }
    #expect(deaths.count == 4)
  }

  @Test func `Returned messages keep their mark`() async {
    await Self.admit([Self.delivery(1), Self.delivery(2)], marks(store: store)) { _ in [DeliveryTag(number: 2)] }
    let rows = store.state.withLock { Array($0.rows.values) }
    #expect(rows == [MarkRecord(number: 1, owner: .nobody, begun: 1)])
    // It was begun twice, whatever the broker counts.
    await Self.admit([Self.delivery(2, count: 7)], marks(store: store)) { step in
      #expect(step.deliveries[0].message.headers["x-delivery-count"] == 2)
      return []
    }
  }

  @Test func `Without a store the twentieth delivery is buried`() async {
    let seen = Mutex<[MarkTreatment]>([])
    await Self.admit([Self.delivery(1, count: 18), Self.delivery(2, count: 19)], marks(store: nil)) { step in
      seen.withLock { $0.append(step.treatment) }
      return []
    }
    #expect(seen.withLock { $0 } == [.bury, .group])
  }

  @Test func `A store that fails stops nothing`() async {
    store.state.withLock { $0.isBroken = true }
    let count = Tally()
    await Self.admit([Self.delivery(1), Self.delivery(2, count: 40)], marks(store: store)) { step in
      #expect(step.treatment == .group)
      count.add(step.deliveries.count)
      return []
    }
    #expect(count.value == 2)
    #expect(logs.events.contains { $0.message.hasPrefix("marks of redelivered messages cannot be stored") })
  }
}
