/// Slows a session down when its server asks for it, and lets it come back to speed.
///
/// Each request to slow down makes a pause and halves the window; as long as nothing is taken in between, each pause is twice as
/// long as the one before. Every window's worth of answers without such a request widens the window by one.
struct Throttle {
  typealias Instant = ContinuousClock.Instant

  static let firstPause: Duration = .milliseconds(250)
  static let longestPause: Duration = .seconds(8)

  private let window: Int
  private var room: Double
  private var nextPause = firstPause
  private var pauseBegan: Instant?
  /// Whether a message that went out after the last pause began was answered.
  private var isAnswered = false
  private(set) var pausedUntil: Instant?

  /// - Parameter window: The most messages under way, 1 or more.
  init(window: Int) {
    self.window = window
    room = Double(window)
  }

  /// How many messages may be under way.
  var limit: Int { max(1, Int(room)) }

  func isPaused(at now: Instant) -> Bool { pausedUntil.map { now < $0 } ?? false }

  /// How long the pause lasts.
  func pause(at now: Instant) -> Duration { max(.zero, pausedUntil.map { now.duration(to: $0) } ?? .zero) }

  /// The server asks for fewer messages.
  ///
  /// - Parameter sentAt: When the message went out that it says so of.
  /// - Returns: Whether a pause begins. Messages that were under way when the last one began do not make it longer.
  mutating func asked(sentAt: Instant, now: Instant) -> Bool {
    if let pauseBegan, sentAt <= pauseBegan { return false }
    if isAnswered { nextPause = Self.firstPause }
    isAnswered = false
    pauseBegan = now
    pausedUntil = now + nextPause
    nextPause = min(Self.longestPause, nextPause * 2)
    room = max(1, room / 2)
    return true
  }

  /// The server answered to a message without asking for fewer.
  mutating func answered(sentAt: Instant) {
    if let pauseBegan, sentAt <= pauseBegan { return }
    isAnswered = true
    room = min(Double(window), room + 1 / room)
  }
}
