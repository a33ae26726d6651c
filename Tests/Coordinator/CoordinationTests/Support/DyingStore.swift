import CountersignTelemetry
import CrashMarks
import SQLite
import Synchronization

/// A store whose process dies before it can take a mark back.
final class DyingStore: MarkStore {
  private let store: any MarkStore
  private let made = Mutex<[String]>([])

  init(_ store: any MarkStore) {
    self.store = store
  }

  /// Requests so far.
  var calls: [String] { made.withLock { $0 } }

  func find(_ keys: [MessageKey]) async throws(DatabaseError) -> [MessageKey: MarkStanding] {
    note("find")
    return try await store.find(keys)
  }

  func write(_ marks: [NewMark], at now: UnixTime) async throws(DatabaseError) {
    note("write")
    try await store.write(marks, at: now)
  }

  func relax(_ key: MessageKey) async throws(DatabaseError) { note("relax") }
  func remove(_ keys: [MessageKey]) async throws(DatabaseError) { note("remove") }
  func giveBack(_ keys: [MessageKey]) async throws(DatabaseError) { note("giveBack") }
  func release() async throws(DatabaseError) { note("release") }
  func close() async { note("close") }

  private func note(_ call: String) {
    made.withLock { $0.append(call) }
  }
}
