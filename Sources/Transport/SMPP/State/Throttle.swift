/// Slows a session down when the server throttles, and lets it recover.
///
/// Each throttling response starts a pause and halves the window; while nothing is accepted in between, each pause is
/// twice as long as the last. Every window's worth of other responses widens the window by one.
struct Throttle {
  typealias Instant = ContinuousClock.Instant

  static let firstPause: Duration = .milliseconds(250)
  static let longestPause: Duration = .seconds(8)

  private let window: Int
  private var room: Double
  private var nextPause = firstPause
  private var pauseBegan: Instant?
  /// Whether a submission sent after the last pause began was accepted.
  private var isAnswered = false
  private(set) var pausedUntil: Instant?

  init(window: Int) {
    self.window = window
    room = Double(window)
  }

  var limit: Int { max(1, Int(room)) }

  func isPaused(at now: Instant) -> Bool { pausedUntil.map { now < $0 } ?? false }

  func pause(at now: Instant) -> Duration { max(.zero, pausedUntil.map { now.duration(to: $0) } ?? .zero) }

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

  mutating func answered(sentAt: Instant) {
    if let pauseBegan, sentAt <= pauseBegan { return }
    isAnswered = true
    room = min(Double(window), room + 1 / room)
  }
}
