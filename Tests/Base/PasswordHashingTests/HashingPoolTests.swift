import Dispatch
import PasswordHashing
import Synchronization
import Testing

@Suite struct HashingPoolTests {
  /// Work that holds its thread until it is let go.
  private final class Gate: Sendable {
    private let begun = DispatchSemaphore(value: 0)
    private let end = DispatchSemaphore(value: 0)

    func hold() {
      begun.signal()
      end.wait()
    }

    func awaitBegin() async {
      await withCheckedContinuation { continuation in
        DispatchQueue(label: "test").async {
          self.begun.wait()
          continuation.resume()
        }
      }
    }

    func open() { end.signal() }
  }

  private final class Log: Sendable {
    private let entries = Mutex<[Int]>([])

    func append(_ entry: Int) { entries.withLock { $0.append(entry) } }
    var all: [Int] { entries.withLock { $0 } }
  }

  @Test func `Work gives its value or its error`() async throws {
    let pool = HashingPool(threads: 1, places: 0)
    #expect(try await pool.run { () throws(PasswordHashingError) in 7 } == 7)
    await #expect(throws: PasswordHashingError.unavailable) {
      try await pool.run { () throws(PasswordHashingError) -> Int in throw .unavailable }
    }
    #expect(try await pool.run { () throws(PasswordHashingError) in 8 } == 8)
  }

  @Test func `A full pool refuses at once, and works all that waits`() async throws {
    let pool = HashingPool(threads: 1, places: 1)
    let gate = Gate()
    async let first: Void = pool.run { () throws(PasswordHashingError) in gate.hold() }
    await gate.awaitBegin()
    let second = Task { try await pool.run { () throws(PasswordHashingError) in 2 } }
    while pool.waiting == 0 { await Task.yield() }
    await #expect(throws: PasswordHashingError.busy) {
      try await pool.run { () throws(PasswordHashingError) in 3 }
    }
    gate.open()
    try await first
    #expect(try await second.value == 2)
    #expect(try await pool.run { () throws(PasswordHashingError) in 4 } == 4)
  }

  @Test func `A canceled waiter gives its place back and never runs`() async throws {
    let pool = HashingPool(threads: 1, places: 1)
    let gate = Gate()
    let log = Log()
    async let first: Void = pool.run { () throws(PasswordHashingError) in gate.hold() }
    await gate.awaitBegin()
    let canceled = Task {
      try await pool.run { () throws(PasswordHashingError) in log.append(1) }
    }
    while pool.waiting == 0 { await Task.yield() }
    canceled.cancel()
    await #expect(throws: PasswordHashingError.canceled) { try await canceled.value }
    let next = Task { try await pool.run { () throws(PasswordHashingError) in 2 } }
    while pool.waiting == 0 { await Task.yield() }
    gate.open()
    try await first
    #expect(try await next.value == 2)
    #expect(log.all.isEmpty)
  }

  @Test func `Work begins in the order of its arrival`() async throws {
    let pool = HashingPool(threads: 1, places: 10)
    let gate = Gate()
    let log = Log()
    async let first: Void = pool.run { () throws(PasswordHashingError) in gate.hold() }
    await gate.awaitBegin()
    var tasks: [Task<Void, any Error>] = []
    for number in 1...10 {
      tasks.append(
        Task { try await pool.run { () throws(PasswordHashingError) in log.append(number) } })
      while pool.waiting < number { await Task.yield() }
    }
    gate.open()
    try await first
    for task in tasks { try await task.value }
    #expect(log.all == Array(1...10))
  }
}
