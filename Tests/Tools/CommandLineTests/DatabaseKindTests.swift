import CrashMarks
import FoundationEssentials
import JobEngine
import Mail
import SQLite
import Testing

@testable import CommandEngine
@testable import RecordStore

@Suite struct DatabaseKindTests {
  private static let services: [(name: String, open: @Sendable (String) async throws -> Void)] = [
    ("the coordinator", { try await open($0, .coordinator) }), ("accounts", { try await open($0, .accounts) }),
    ("the workers' ledger", { try await SQLiteLedger.open(path: $0).close() }),
    ("the workers' crash marks", { try await RecordMarks.open(path: $0).close() }),
    ("the push-worker's memory", { try await RecordTable.open(path: $0, of: .pushMemory).close() }),
    ("the mail-worker's suppressions", { try await SuppressionList.open(path: $0).close() }),
  ]

  private static func open(_ path: String, _ kind: DatabaseKind) async throws {
    let database = try await Database.open(path: path, kind: kind, migrations: ServiceSchema.migrations)
    await database.close()
  }

  @Test(arguments: services.indices)
  func `Each service opens its own file, and refuses that of any other by name`(_ number: Int) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "kinds-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }  // What is left over is in /tmp.
    let path = directory.appending(path: "file.sqlite").path(percentEncoded: false)
    let own = Self.services[number]
    for _ in 0..<2 { try await own.open(path) }
    for other in Self.services where other.name != own.name {
      let error = await #expect(throws: (any Error).self) { try await other.open(path) }
      let text = error.map { "\($0)" } ?? ""
      #expect(text.contains("is the file of \(own.name), not of \(other.name)"), "\(text)")
    }
  }
}
