/// One event of the log, before it becomes a line.
public struct LogEvent: Sendable {
  public let time: UnixTime
  public let level: LogLevel
  /// The part of the program it comes from.
  public let label: String
  /// A constant: what differs from one event to the next is in the metadata.
  public let message: String
  public let metadata: LogMetadata
}
