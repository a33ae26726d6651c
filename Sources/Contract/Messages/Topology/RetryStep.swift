/// How long a message can be put off. Each step has an exchange and a queue of its own, because a time-out per message
/// holds up everything behind it.
public enum RetryStep: String, CaseIterable, Sendable {
  case fiveSeconds = "5s"
  case thirtySeconds = "30s"
  case twoMinutes = "2m"
  case tenMinutes = "10m"
  case oneHour = "1h"

  /// How long a message stays.
  public var delay: Duration {
    switch self {
    case .fiveSeconds: .seconds(5)
    case .thirtySeconds: .seconds(30)
    case .twoMinutes: .seconds(120)
    case .tenMinutes: .seconds(600)
    case .oneHour: .seconds(3600)
    }
  }

  /// The fanout exchange that takes what is put off; the routing key is that of the exchange it goes back to.
  public var exchange: String { "countersign.retry.\(rawValue)" }

  /// The queue in which it waits.
  public var queue: String { exchange }

  /// The shortest step that is at least as long as a delay; the longest one when none is.
  public static func covering(_ delay: Duration) -> RetryStep {
    allCases.first { $0.delay >= delay } ?? .oneHour
  }

  /// The step after a number of attempts: 5 s after the first, 1 h from the fifth on.
  /// - Parameter attempt: the number of the attempt that failed, from 1.
  public static func after(attempt: Int) -> RetryStep {
    allCases[min(max(attempt, 1), allCases.count) - 1]
  }
}

extension RetryStep: Comparable {
  public static func < (left: RetryStep, right: RetryStep) -> Bool {
    left.delay < right.delay
  }
}
