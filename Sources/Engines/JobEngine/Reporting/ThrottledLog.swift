public import CountersignTelemetry
import Synchronization

/// A log that errors of every message cannot flood: each text at most once a second, with the count of the omitted
/// ones.
public final class ThrottledLog: Sendable {
  static let interval: Duration = .seconds(1)

  private struct Entry {
    var writtenAt: MonotonicTime
    var suppressed: Int
  }

  private let logger: Logger
  private let clock: any MonotonicClock
  private let entries = Mutex<[String: Entry]>([:])

  public init(_ logger: Logger, clock: any MonotonicClock = SystemMonotonicClock()) {
    self.logger = logger
    self.clock = clock
  }

  /// Writes an error, unless the same text was just written.
  public func error(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata) {
    write(.error, message, metadata())
  }

  /// Writes a warning, unless the same text was just written.
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

  /// `nil` while the text is held back.
  private func pass(_ message: String) -> Int? {
    let now = clock.now()
    return entries.withLock { entries in
      // Texts are constants of the program, so there are only a few.
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
