import CountersignTelemetry

/// A time in which nobody could give a code back: the coordinator was down, or the broker away, or the database took nothing.
struct ConversionOutage: Sendable, Hashable {
  /// When it was last known that codes could come back. Names the outage, so it never changes.
  var since: UnixTime
  /// When it was last known that none could.
  var until: UnixTime

  /// Whether somebody who asked for a code before its end could not give it back until the verification ended.
  func covers(_ ending: ConversionEnding) -> Bool {
    ending.createdAt < until && ending.endedAt > since
  }
}

/// The outages that may still make a difference. A plain value without I/O.
///
/// Where a code could not be given back, none that is missing tells anything: what expires of the verifications of such a time does not
/// count, neither when it expires nor when it is counted again at a later start.
struct ConversionOutages: Sendable {
  /// Outages that are told apart. Of more the oldest two are taken for one, with the time between them: that lets too much through.
  static let maxCount = 256
  /// Outages between which less time passed are one: a process that starts again and again has few.
  static let shortestGap = Duration.seconds(5)
  /// The maintenance looks every second. When it was silent for longer, it was stuck in the database, or the process stood still, or
  /// the clock was set ahead, by which everything expires at once: in none of these could anybody give a code back. Ten times as long as
  /// a look should take, since a round of the maintenance under load takes some seconds.
  static let longestSilence = Duration.seconds(10)

  /// Oldest first.
  private(set) var all: [ConversionOutage] = []
  /// When it was last known that codes could come back.
  private var heardAt: UnixTime

  /// - Parameter startedAt: when the process began to listen.
  init(startedAt: UnixTime) {
    heardAt = startedAt
  }

  /// Codes can come back now.
  /// - Parameter longestSilence: see ``longestSilence``.
  /// - Returns: the outage that has just ended, when nobody has looked for too long.
  mutating func hear(at now: UnixTime, longestSilence: Duration = longestSilence) -> ConversionOutage? {
    setBack(to: now)
    let outage = now - heardAt > longestSilence ? note(at: now) : nil
    heardAt = now
    return outage
  }

  /// No code can come back now.
  /// - Returns: the outage, as it has to be stored.
  mutating func note(at now: UnixTime) -> ConversionOutage {
    setBack(to: now)
    if let last = all.indices.last, heardAt <= all[last].until + Self.shortestGap {
      all[last].until = max(all[last].until, now)
      return all[last]
    }
    let outage = ConversionOutage(since: min(heardAt, now), until: now)
    add(outage)
    return outage
  }

  /// Takes over outages that were stored, oldest first.
  mutating func restore(_ outages: [ConversionOutage]) {
    for outage in outages { add(outage) }
  }

  /// Whether a verification tells nothing because of an outage.
  func cover(_ ending: ConversionEnding) -> Bool {
    ending.outcome == .expired && all.contains { $0.covers(ending) }
  }

  /// Forgets those that ended before a time.
  mutating func forget(before time: UnixTime) {
    all.removeAll { $0.until < time }
  }

  /// A clock that is set back leaves times of the future behind: an outage that lasted until tomorrow would excuse everything until then.
  private mutating func setBack(to now: UnixTime) {
    heardAt = min(heardAt, now)
    for index in all.indices where all[index].until > now { all[index].until = max(all[index].since, now) }
  }

  private mutating func add(_ outage: ConversionOutage) {
    all.append(outage)
    guard all.count > Self.maxCount else { return }
    all[1].since = all[0].since
    all.removeFirst()
  }
}
