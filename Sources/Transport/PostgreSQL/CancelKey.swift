import CPostgreSQL
import Dispatch

/// The permission to cancel a connection's running statement, by a connection of its own.
final class CancelKey: @unchecked Sendable {
  private static let maxErrorBytes = 256

  // Never written after init, and PQcancel only reads it: "fully thread-safe" by the documentation of libpq.
  private let handle: OpaquePointer

  init?(of connection: OpaquePointer) {
    guard let handle = PQgetCancel(connection) else { return nil }
    self.handle = handle
  }

  deinit {
    PQfreeCancel(handle)
  }

  /// Cancels what runs, if anything does. On a thread of its own: connecting to a host that does not answer takes as
  /// long as the operating system tries, and no caller waits for that.
  func cancel() {
    DispatchQueue(label: "postgresql.cancel").async {
      var error = [CChar](repeating: 0, count: Self.maxErrorBytes)
      // If it fails, the connection is cut.
      PQcancel(self.handle, &error, Int32(error.count))
    }
  }
}
