/// Retry delay of a job. Each delay of each work queue has a queue of its own: a timeout per message holds up all
/// messages behind it, and a work queue that takes nothing back holds up only its own jobs.
///
/// The raw value is also the routing key on the exchange of the delayed jobs (``Topology/Exchanges/retry(_:)``).
public enum RetryStep: String, CaseIterable, Sendable {
  case fiveSeconds = "5s"
  case thirtySeconds = "30s"
  case twoMinutes = "2m"
  case tenMinutes = "10m"
  case oneHour = "1h"

  /// Duration of the delay.
  public var delay: Duration {
    switch self {
    case .fiveSeconds: .seconds(5)
    case .thirtySeconds: .seconds(30)
    case .twoMinutes: .seconds(120)
    case .tenMinutes: .seconds(600)
    case .oneHour: .seconds(3600)
    }
  }

  /// Shortest retry delay of at least a duration. The longest one if none is.
  public static func covering(_ delay: Duration) -> RetryStep {
    allCases.first { $0.delay >= delay } ?? .oneHour
  }

  /// Retry delay after a number of attempts: 5 s after the first, 1 h from the fifth on.
  /// - Parameter attempt: number of the failed attempt, from 1.
  public static func after(attempt: Int) -> RetryStep {
    allCases[min(max(attempt, 1), allCases.count) - 1]
  }
}

extension RetryStep: Comparable {
  public static func < (left: RetryStep, right: RetryStep) -> Bool {
    left.delay < right.delay
  }
}
