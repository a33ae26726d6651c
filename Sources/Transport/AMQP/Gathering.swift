/// Maximum time that a message to the broker waits for others of its kind: twenty sent together cost the broker and
/// this process less work each.
public struct Gathering: Sendable, Hashable {
  /// Maximum wait.
  public var interval: Duration
  /// Number that is sent before the interval is over.
  public var count: Int
  /// Whether a message is sent at once while the broker owes no answer.
  public var isPrompt: Bool

  /// - Parameters:
  ///   - interval: maximum wait.
  ///   - count: number that is sent before the interval is over.
  ///   - isPrompt: whether a message is sent at once while the broker owes no answer.
  public init(interval: Duration, count: Int = 64, isPrompt: Bool) {
    precondition(interval > .zero && count > 0, "interval and count must be positive")
    self.interval = interval
    self.count = count
    self.isPrompt = isPrompt
  }

  /// Publishes with a waiting caller.
  public static let publishes = Gathering(interval: .milliseconds(2), count: .max, isPrompt: true)
  /// Acknowledgements of messages that are processed quickly.
  public static let acknowledgements = Gathering(interval: .milliseconds(5), isPrompt: true)
}
