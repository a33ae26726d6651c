import CountersignTelemetry
import SQLite
import ServiceRuntime
import TestSupport
import Testing

@testable import CommandEngine
@testable import RecordStore

@Suite struct TurnTests {
  @Test func `A second one waits for the database, says so, and has it when the first lets go`() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let path = directory.path + "/coordinator.sqlite"
    let logs = MemorySink()
    var first = try FileOwner.claim(path)
    let second = try FileOwner.claim(path)
    #expect(first != nil && second == nil)
    let turn = Turn(of: "coordinator")
    var looks = 0
    let owner = try await turn.claim(path, log: Logger(label: "test", sink: logs)) { _ in
      looks += 1
      #expect(turn.health != .ok)
      if looks == 40 { first = nil }
    }
    #expect(looks == 40 && turn.health == .ok)
    // At once, and after half a minute.
    #expect(logs.events.count { $0.message.hasPrefix("another process") } == 2)
    withExtendedLifetime(owner) {}
  }

  @Test func `A directory that is not there is an error, not a wait`() async throws {
    await #expect(throws: StoreError.self) {
      _ = try await Turn(of: "coordinator").claim(
        "/nowhere/at/all.sqlite", log: Logger(label: "test", sink: MemorySink()))
    }
  }
}
