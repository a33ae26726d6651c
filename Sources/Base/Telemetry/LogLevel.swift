/// Severity of an event.
public enum LogLevel: String, Sendable, CaseIterable, Codable {
  /// Every step; for whoever looks for a fault in the code.
  case trace
  /// Details that help to follow one job.
  case debug
  /// The normal life of the process: started, connected, stopped.
  case info
  /// Something was wrong and was handled; an operator may want to know.
  case warning
  /// Something failed and needs somebody.
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
