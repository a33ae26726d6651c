import CommandEngine
import CountersignTelemetry
import CrashMarks
import ServiceRuntime

/// The opened database of a coordinator.
protocol CoordinatorStorage: Sendable {
  /// Whether other coordinators may use it at the same time.
  var isShared: Bool { get }
  /// Remedy for `/readyz` while it takes no writes.
  var hint: String { get }

  /// Makes the store, with everything that an earlier version left in the database.
  func begin(_ carryOver: CarryOver, clock: any WallClock) async throws -> BegunStore
  /// Carries out a part of the start, again as long as it may succeed later, where a start waits for its database.
  /// - Throws: ``StartError`` when it cannot go on.
  func attempt(_ part: () async throws(StoreError) -> Void) async throws
  /// Marks of redelivered messages, in the same database. Whoever uses them closes them.
  func marks() async throws -> any MarkStore
  /// Closes the database. Its store is closed before.
  func close() async
}

/// A store that is ready for use.
struct BegunStore: Sendable {
  let store: any Store
  /// Messages of an earlier version that cannot be read, and are left where they are.
  var messagesLeft = 0
}
