/// Writes events to the log.
///
/// The message is a constant, so that events can be counted and searched; what differs goes into the metadata, which is
/// only evaluated when the level is enabled:
///
/// ```swift
/// log.info("job settled", [.jobID: id, .attempt: 3])
/// ```
public struct Logger: Sendable {
  /// The part of the program that logs.
  public let label: String
  /// Events below it are dropped.
  public let level: LogLevel
  private let sink: any LogSink
  private let clock: any WallClock
  private let bound: LogMetadata

  /// - Parameters:
  ///   - label: the part of the program that logs, for example the name of the executable.
  ///   - level: events below it are dropped.
  ///   - sink: where the events go.
  ///   - clock: the clock that stamps them.
  public init(label: String, level: LogLevel = .info, sink: any LogSink, clock: any WallClock = SystemClock()) {
    self.init(label: label, level: level, sink: sink, clock: clock, bound: [:])
  }

  /// A logger that writes lines to standard error.
  public init(label: String, level: LogLevel = .info, format: LogFormat) {
    self.init(label: label, level: level, sink: StandardErrorSink(format: format))
  }

  private init(label: String, level: LogLevel, sink: any LogSink, clock: any WallClock, bound: LogMetadata) {
    self.label = label
    self.level = level
    self.sink = sink
    self.clock = clock
    self.bound = bound
  }

  /// A logger that adds these values to every event.
  public func with(_ metadata: LogMetadata) -> Logger {
    Logger(label: label, level: level, sink: sink, clock: clock, bound: bound.appending(metadata))
  }

  /// A logger of a part of this one's part: `worker` becomes `worker.ledger`.
  public func child(_ part: String) -> Logger {
    Logger(label: "\(label).\(part)", level: level, sink: sink, clock: clock, bound: bound)
  }

  /// Whether events of a level are written.
  public func isEnabled(_ level: LogLevel) -> Bool {
    level >= self.level
  }

  /// Logs an event of any level.
  public func log(_ level: LogLevel, _ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]) {
    guard isEnabled(level) else { return }
    sink.write(
      LogEvent(
        time: clock.now(), level: level, label: label, message: message.description,
        metadata: bound.appending(metadata())))
  }

  public func trace(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]) {
    log(.trace, message, metadata())
  }

  public func debug(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]) {
    log(.debug, message, metadata())
  }

  public func info(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]) {
    log(.info, message, metadata())
  }

  public func warning(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]) {
    log(.warning, message, metadata())
  }

  public func error(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]) {
    log(.error, message, metadata())
  }
}

/// Severity of an event.
public enum LogLevel: String, Sendable, CaseIterable, Codable {
  /// Every step, for debugging.
  case trace
  /// Details that help to follow one job.
  case debug
  /// The normal life of the process: started, connected, stopped.
  case info
  /// Something was wrong and was handled. An operator may want to know.
  case warning
  /// Something failed and needs an operator.
  case error

  var rank: Int {
    switch self {
    case .trace: 0
    case .debug: 1
    case .info: 2
    case .warning: 3
    case .error: 4
    }
  }
}

extension LogLevel: Comparable {
  public static func < (left: LogLevel, right: LogLevel) -> Bool {
    left.rank < right.rank
  }
}
