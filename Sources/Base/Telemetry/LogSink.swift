/// Destination of events.
public protocol LogSink: Sendable {
  /// Takes one event; returns when it is written.
  func write(_ event: LogEvent)
}
