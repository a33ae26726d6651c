import CountersignTelemetry

/// One limit for one subject: a maximum number within a window.
struct LimitRule: Sendable, Hashable {
  /// Kind of the limit; the name under which its count is stored. Never changes its meaning.
  enum Key: String, Sendable, CaseIterable {
    case sendsShort = "s"
    case sendsDay = "d"
    case checks = "c"
    case unknownType = "u"
    case proofs = "v"
    /// Checks by handles other than the first of their code.
    case laterChecks = "cl"
    case wrongCodes = "w"
    case wrongCodesDay = "wd"
    /// Wrong codes by handles other than the first of their code.
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

  /// A sliding window: exact up to ``maxEntries``, by 64ths of the window beyond.
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

  /// Whether an entry no longer counts, or cannot have happened.
  func isOver(_ at: Int64, at now: UnixTime) -> Bool {
    at + windowMilliseconds <= now.milliseconds || at - windowMilliseconds > now.milliseconds
  }
}
