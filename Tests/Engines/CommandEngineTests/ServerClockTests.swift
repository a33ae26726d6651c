import CountersignTelemetry
import Dispatch
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

@Suite struct ServerClockTests {
  /// Both hosts, and the time that passes on both.
  private final class Hosts: Sendable {
    let wall = ManualClock()
    let logs = MemorySink()
    private let origin = ContinuousClock.now
    private let passed = Mutex(Duration.zero)
    /// Time by which the server's clock is ahead of the client's.
    private let lead: Mutex<Duration>

    init(ahead lead: Duration = .zero) { self.lead = Mutex(lead) }

    var server: UnixTime { wall.now() + lead.withLock { $0 } }

    func pass(_ time: Duration) {
      wall.advance(by: time)
      passed.withLock { $0 += time }
    }

    func setServer(by step: Duration) { lead.withLock { $0 += step } }

    func clock() -> ServerClock {
      ServerClock(host: wall, logger: Logger(label: "test", sink: logs)) { [self] in
        origin + passed.withLock { $0 }
      }
    }

    /// A reading that took some time there, and some back.
    func read(_ clock: ServerClock, there: Duration = .zero, back: Duration = .zero) -> ServerClock.Reading {
      let asked = clock.ask()
      pass(there)
      let time = server
      pass(back)
      return clock.reading(time.milliseconds, asked: asked)
    }

    func logged(_ text: String) -> Int { logs.events.count { $0.message.contains(text) } }
  }

  @Test func `A difference of any size changes nothing, and is told of once when it begins and once when it is over`() {
    for lead in [Duration.seconds(600), .seconds(-600), .seconds(-3)] {
      let hosts = Hosts(ahead: lead)
      let clock = hosts.clock()
      #expect(clock.now() == hosts.wall.now(), "nothing better is known yet")
      clock.begin(hosts.read(clock))
      for _ in 0..<10 {
        hosts.pass(.milliseconds(1_001))
        #expect(clock.now() == hosts.server)
        #expect(clock.follow(hosts.read(clock)))
      }
      #expect(clock.difference == lead && clock.steps == 0)
      #expect(hosts.logged("differs from the database's") == 1)
      // The host's own clock is set right; that of the service goes on.
      hosts.wall.advance(by: lead)
      hosts.setServer(by: .zero - lead)
      hosts.pass(.seconds(1))
      #expect(clock.follow(hosts.read(clock)) && clock.now() == hosts.server && clock.steps == 0)
      #expect(clock.difference == .zero)
      #expect(hosts.logged("differs from the database's") == 1 && hosts.logged("agrees") == 1)
    }
  }

  @Test func `Below 2 s there is nothing to tell, and a verdict does not waver`() {
    let hosts = Hosts(ahead: .seconds(2))
    let clock = hosts.clock()
    clock.begin(hosts.read(clock))
    #expect(hosts.logs.events.isEmpty)
    for step in [1, -1, 1, -1] {
      hosts.setServer(by: .milliseconds(step))
      #expect(clock.follow(hosts.read(clock)))
    }
    #expect(hosts.logs.events.count == 1)
  }

  @Test func `A slow answer moves nothing, whichever way was slow`() {
    let hosts = Hosts(ahead: .seconds(100))
    let clock = hosts.clock()
    clock.begin(hosts.read(clock))
    for (there, back) in [(0, 30), (30, 0), (7, 7)] {
      #expect(clock.follow(hosts.read(clock, there: .seconds(there), back: .seconds(back))))
      #expect(clock.now() == hosts.server && clock.steps == 0)
    }
    #expect(hosts.logged("was set") == 0)
  }

  @Test func `What the first answer left open is found out by quicker ones`() {
    let hosts = Hosts()
    let clock = hosts.clock()
    clock.begin(hosts.read(clock, back: .seconds(2)))
    #expect(clock.now() == hosts.server - .seconds(1))
    #expect(clock.follow(hosts.read(clock)))
    #expect(clock.now() == hosts.server)
  }

  @Test func `A server that is a little slower is followed, and the time never goes back`() {
    let hosts = Hosts()
    let clock = hosts.clock()
    clock.begin(hosts.read(clock))
    var last = clock.now()
    for _ in 0..<20 {
      hosts.pass(.milliseconds(100))
      hosts.setServer(by: .milliseconds(-150))
      #expect(clock.follow(hosts.read(clock)))
      #expect(clock.now() >= last)
      last = clock.now()
    }
    #expect(clock.steps == 0)
    hosts.pass(.seconds(5))
    #expect(clock.now() == hosts.server)
  }

  @Test(arguments: [-3_600, -2, 2, 3_600])
  func `A server whose clock is set counts from the next session on`(seconds: Int) {
    let hosts = Hosts(ahead: .seconds(7))
    let clock = hosts.clock()
    clock.begin(hosts.read(clock))
    let before = clock.now()
    hosts.setServer(by: .seconds(seconds))
    #expect(!clock.follow(hosts.read(clock)))
    #expect(clock.now() == before && clock.steps == 0)
    clock.begin(hosts.read(clock))
    #expect(clock.now() == hosts.server && clock.steps == 1)
    #expect(hosts.logged("was set") == 1)
    #expect(clock.follow(hosts.read(clock)))
  }

  // MARK: On a server

  private static func reading(of clock: ServerClock, ahead: Duration) -> ServerClock.Reading {
    clock.reading((SystemClock().now() + ahead).milliseconds, asked: clock.ask())
  }

  @Test func `Stores go by their server's clock, however wrong that of their host is`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let wrong = ManualClock(SystemClock().now() + .seconds(600))
      let logs = MemorySink()
      let asked = SystemClock().now()
      let store = try await database.open {
        ($0.host, $0.logger) = (wrong, Logger(label: "test", sink: logs))
        $0.heartbeat = .seconds(3600)
      }
      let (before, shown, after) = (SystemClock().now(), store.clock.now(), SystemClock().now())
      // The answer came at any time of the question, which may have waited for a processor.
      let question = before - asked + .milliseconds(2)
      #expect(before - question <= shown && shown <= after + question)
      #expect(store.status.clockDifference < .seconds(-2))
      #expect(logs.events.map(\.level) == [.warning])
    }
  }

  @Test func `When the server's clock is set, the heartbeat begins a new session that takes it over`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let store = try await database.open { $0.heartbeat = .seconds(3600) }
      let before = store.owner.current
      await PostgreSQLStore.follow(store.serverClock, store.connection)
      #expect(store.owner.current.number == before.number)
      // As if it had been an hour ahead until now.
      store.serverClock.begin(Self.reading(of: store.serverClock, ahead: .seconds(3600)))
      #expect(store.clock.now() > SystemClock().now() + .seconds(3000))
      await PostgreSQLStore.follow(store.serverClock, store.connection)
      #expect(store.owner.current.number > before.number && store.owner.former == [before.number])
      #expect(store.serverClock.steps == 2 && store.clock.now() < SystemClock().now() + .seconds(2))
      try await store.put(Record(try id("a"), body: []))
    }
  }

  @Test func `A transaction that waits while the clock is set is not carried out at its old time`() async throws {
    try await PostgreSQLUnderTest.with { database in
      let store = try await database.open { $0.heartbeat = .seconds(3600) }
      let (isHeld, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      async let holder: Void = store.connection.withSession { _ throws(StoreError) in
        isHeld.signal()
        mayEnd.wait()
      }
      try await onNewThread { isHeld.wait() }
      let a = try id("a")
      async let waiting = store.transact(keys(records: [a]), at: store.clock.now()) { set throws(StoreError) -> Void in
        try set.put(Record(a, body: []))
      }
      while store.connection.status.waiting < 2 { await Task.yield() }
      store.serverClock.begin(Self.reading(of: store.serverClock, ahead: .seconds(3600)))
      mayEnd.signal()
      try await holder
      do {
        _ = try await waiting
        Issue.record("it was carried out")
      } catch let error as StoreError {
        #expect(error.code == .unavailable && error.fault == .store)
      }
      #expect(try await store.found(a) == nil)
    }
  }
}
