/// Time that a message to the broker may wait for more of its kind: a broker that gets twenty at a time takes less work for each of
/// them, and so does the process that sends them.
public struct Gathering: Sendable, Hashable {
  /// The longest that anything waits.
  public var interval: Duration
  /// So many go out before the interval is over.
  public var count: Int
  /// Whether what comes while the broker owes no answer goes out at once.
  public var isPrompt: Bool

  /// - Parameters:
  ///   - interval: the longest that anything waits.
  ///   - count: so many go out before that.
  ///   - isPrompt: whether what comes while the broker owes no answer goes out at once.
  public init(interval: Duration, count: Int = 64, isPrompt: Bool) {
    precondition(interval > .zero && count > 0, "interval and count must be positive")
    self.interval = interval
    self.count = count
    self.isPrompt = isPrompt
  }

  /// Publishes that somebody waits for.
  public static let publishes = Gathering(interval: .milliseconds(2), count: .max, isPrompt: true)
  /// Acknowledgements of messages that are done soon.
  public static let acknowledgements = Gathering(interval: .milliseconds(5), isPrompt: true)
}
