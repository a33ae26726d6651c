public import CountersignTelemetry
import Synchronization

/// Keeps events in memory, to be looked at as values.
public final class MemorySink: LogSink {
  private let stored = Mutex<[LogEvent]>([])

  /// Events that are kept. Later ones push out the oldest.
  public static let maxEvents = 10_000

  public init() {}

  public func write(_ event: LogEvent) {
    stored.withLock { events in
      if events.count == Self.maxEvents { events.removeFirst() }
      events.append(event)
    }
  }

  /// The events so far, the oldest first.
  public var events: [LogEvent] {
    stored.withLock { $0 }
  }

  /// The events as the lines they would be.
  public func lines(_ format: LogFormat = .text) -> [String] {
    events.map(format.line(for:))
  }
}
