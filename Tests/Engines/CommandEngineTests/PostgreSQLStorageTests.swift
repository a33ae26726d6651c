import CountersignTelemetry
import ServiceRuntime
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

@Suite struct PostgreSQLStorageTests {
  private let sink = MemorySink()

  private func attempt(
    _ errors: [StoreError], _ wait: ServerWait = ServerWait(for: "the database", hint: "countersign store check")
  ) async throws -> Int {
    var left = errors
    var sleeps = 0
    let logger = Logger(label: "test", sink: sink)
    let open = { () throws(StoreError) -> Int in
      guard left.isEmpty else { throw left.removeFirst() }
      return sleeps
    }
    return try await wait.run(
      logger: logger, sleep: { _ in sleeps += 1 }, end: PostgreSQLStorage.startError, open)
  }

  @Test func `It tries until the server takes it, and says why it waits: once, and again when the reason changes`()
    async throws
  {
    let wait = ServerWait(for: "the database", hint: "countersign store check")
    #expect(wait.health != .ok)
    let away = StoreError(.unavailable, "db1:5432 cannot be reached")
    let copied = StoreError(.unavailable, "it is being copied")
    #expect(try await attempt([away, away, away, copied], wait) == 4)
    #expect(wait.health == .ok)
    #expect(sink.events.count == 2)
    #expect(sink.lines().first?.contains("countersign store check") == true)
  }

  @Test func `What an operator has to hint first ends the process with its message`() async throws {
    let missing = StoreError(.schema, "the tables of 'store' are missing: run 'countersign store create'")
    let error = await #expect(throws: StartError.self) { try await attempt([missing]) }
    #expect(error?.exitCode == .configuration)
    #expect(error?.description.contains("countersign store create") == true)
  }

  @Test func `A start in a file that fails ends with the exit code of its reason`() {
    #expect(SQLiteStorage.startError(StoreError(.full, "no space")).exitCode == .ioError)
    #expect(SQLiteStorage.startError(StoreError(.busy, "it is locked")).exitCode == .unavailable)
    #expect(SQLiteStorage.startError(StoreError(.statement, "no such column")).exitCode == .internalError)
  }

  @Test func `A reason that stays is told every half minute`() async throws {
    let clock = ManualMonotonicClock()
    let wait = ServerWait(for: "the database", hint: "countersign store check", clock: clock)
    var attempts = 0
    let open = { () throws(StoreError) in
      attempts += 1
      // Each attempt takes four seconds, and the pause one.
      clock.advance(by: .seconds(4))
      if attempts < 13 { throw StoreError(.unavailable, "db1:5432 cannot be reached") }
    }
    try await wait.run(
      logger: Logger(label: "test", sink: sink), sleep: { clock.advance(by: $0) }, end: PostgreSQLStorage.startError,
      open)
    #expect(sink.events.count == 2)
  }
}
