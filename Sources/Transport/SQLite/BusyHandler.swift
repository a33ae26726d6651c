import CSQLite
import Glibc

/// Waits while another process holds the file, up to a time-out.
///
/// SQLite's own handler sleeps up to 100 ms at a time, which is the length of many groups: a process would look for the
/// lock so seldom that one which writes without a pause starves it.
final class BusyHandler {
  /// The first waits are short (a group lasts 1–5 ms), later ones spare the processor.
  private static let shortWaits: Int32 = 50
  private static let shortWait: UInt32 = 200
  private static let longWait: UInt32 = 2_000

  private let timeout: Duration
  var limit: Duration?
  private var deadline = ContinuousClock.now

  init(timeout: Duration) {
    self.timeout = timeout
  }

  /// The connection must be closed before the handler goes away.
  func install(on handle: OpaquePointer) {
    sqlite3_busy_handler(
      handle,
      { context, count in
        guard let context else { return 0 }
        return Unmanaged<BusyHandler>.fromOpaque(context).takeUnretainedValue().wait(count)
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func wait(_ count: Int32) -> Int32 {
    if count == 0 { deadline = ContinuousClock.now + (limit.map { min($0, timeout) } ?? timeout) }
    guard ContinuousClock.now < deadline else { return 0 }
    usleep(count < Self.shortWaits ? Self.shortWait : Self.longWait)
    return 1
  }
}
