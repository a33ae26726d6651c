public import CountersignTelemetry
import Synchronization

/// Keeps an error that strikes every message from filling the log: each message at most once a second, with the count of those left out.
public final class ThrottledLog: Sendable {
  /// The shortest time between two events of the same message.
  static let interval: Duration = .seconds(1)

  private struct Entry {
    var writtenAt: MonotonicTime
    var suppressed: Int
  }

  private let logger: Logger
  private let clock: any MonotonicClock
  private let entries = Mutex<[String: Entry]>([:])

  /// - Parameters:
  ///   - logger: Where it writes.
  ///   - clock: What tells how long ago a message was written.
  public init(_ logger: Logger, clock: any MonotonicClock = SystemMonotonicClock()) {
    self.logger = logger
    self.clock = clock
  }

  /// Writes an error, unless the same message was written just now.
  public func error(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata) {
    write(.error, message, metadata())
  }

  /// Writes a warning, unless the same message was written just now.
  public func warning(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata) {
    write(.warning, message, metadata())
  }

  private func write(
    _ level: LogLevel, _ message: StaticString, _ metadata: @autoclosure () -> LogMetadata
  ) {
    guard logger.isEnabled(level), let suppressed = pass(message.description) else { return }
    var metadata = metadata()
    if suppressed > 0 { metadata.append("suppressed", suppressed) }
    logger.log(level, message, metadata)
  }

  /// Nil: not now. Else how many were left out since the last one.
  private func pass(_ message: String) -> Int? {
    let now = clock.now()
    return entries.withLock { entries in
      // Messages are constants of the program, so there are only a few.
      if var entry = entries[message], now - entry.writtenAt < Self.interval {
        entry.suppressed += 1
        entries[message] = entry
        return nil
      }
      let suppressed = entries[message]?.suppressed ?? 0
      entries[message] = Entry(writtenAt: now, suppressed: 0)
      return suppressed
    }
  }
}
