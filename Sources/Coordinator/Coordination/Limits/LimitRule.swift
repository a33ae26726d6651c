import CountersignTelemetry

/// One limit for one subject: so many times within so long a window.
struct LimitRule: Sendable, Hashable {
  /// What is limited; the name under which its count is stored. Never changes its meaning.
  enum Key: String, Sendable, CaseIterable {
    case sendsShort = "s"
    case sendsDay = "d"
    case checks = "c"
    case unknownType = "u"
    case proofs = "v"
    /// Checks by handles that are not the first of their code.
    case laterChecks = "cl"
    case wrongCodes = "w"
    case wrongCodesDay = "wd"
    /// Wrong codes by handles that are not the first of their code.
    case laterWrongCodes = "wl"
    case receiptsDay = "e"
    case assessmentsDay = "q"
    case revocationsDay = "o"
    case noticesDay = "m"
  }

  /// The most entries that a window of a large limit keeps.
  static let maxEntries = 64

  let key: Key
  let limit: Int
  let window: Duration
  let windowMilliseconds: Int64
  private let step: Int64

  /// A window that slides: exact up to ``maxEntries``, by 64ths of the window beyond.
  init(sliding key: Key, limit: Int, window: Duration) {
    self.key = key
    self.limit = limit
    self.window = window
    windowMilliseconds = max(window.wholeMilliseconds, 1)
    step = limit <= Self.maxEntries ? 1 : max(1, windowMilliseconds / Int64(Self.maxEntries))
  }

  /// A day in UTC.
  init(daily key: Key, limit: Int) {
    self.key = key
    self.limit = limit
    window = .seconds(86_400)
    windowMilliseconds = 86_400_000
    step = windowMilliseconds
  }

  func rounded(_ now: UnixTime) -> Int64 {
    now.milliseconds - now.milliseconds % step
  }

  /// Whether what happened then does not count any more, or cannot have happened then.
  func isOver(_ at: Int64, at now: UnixTime) -> Bool {
    at + windowMilliseconds <= now.milliseconds || at - windowMilliseconds > now.milliseconds
  }
}
