import CountersignTelemetry

/// A time in which no code could come back: the coordinator was down, the broker away, or the database took no writes.
struct ConversionOutage: Sendable, Hashable {
  /// Last time at which codes were known to come back. Identifies the outage, so it never changes.
  var since: UnixTime
  /// Last time at which codes were known not to come back.
  var until: UnixTime

  /// Whether the outage kept a requester from returning the code until the verification ended.
  func covers(_ ending: ConversionEnding) -> Bool {
    ending.createdAt < until && ending.endedAt > since
  }
}

/// The outages that may still matter. A plain value without I/O.
///
/// A missing code says nothing if it could not come back: verifications that expire because of an outage do not count,
/// neither when they expire nor when a later start counts them again.
struct ConversionOutages: Sendable {
  /// Distinguished outages. Beyond that the oldest two are merged, with the time between them: that lets too much
  /// through.
  static let maxCount = 256
  /// Outages closer together than this are one: a process that restarts again and again has few.
  static let shortestGap = Duration.seconds(5)
  /// The maintenance looks every second. A longer silence means that the database hung, the process stood still, or the
  /// clock was set ahead, which expires everything at once: no code could come back during any of these. Ten times the
  /// usual duration of a look, since a round of the maintenance under load takes some seconds.
  static let longestSilence = Duration.seconds(10)

  /// Oldest first.
  private(set) var all: [ConversionOutage] = []
  /// Last time at which codes were known to come back.
  private var heardAt: UnixTime

  /// - Parameter startedAt: start of the process.
  init(startedAt: UnixTime) {
    heardAt = startedAt
  }

  /// Records that codes can come back now.
  /// - Parameter longestSilence: see ``longestSilence``.
  /// - Returns: the outage that has just ended, if the silence was too long.
  mutating func hear(at now: UnixTime, longestSilence: Duration = longestSilence) -> ConversionOutage? {
    setBack(to: now)
    let outage = now - heardAt > longestSilence ? note(at: now) : nil
    heardAt = now
    return outage
  }

  /// Records that codes cannot come back now.
  /// - Returns: the outage to store.
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

  /// Adds stored outages, oldest first.
  mutating func restore(_ outages: [ConversionOutage]) {
    for outage in outages { add(outage) }
  }

  /// Whether an outage makes a verification meaningless.
  func cover(_ ending: ConversionEnding) -> Bool {
    ending.outcome == .expired && all.contains { $0.covers(ending) }
  }

  /// Forgets outages that ended before a time.
  mutating func forget(before time: UnixTime) {
    all.removeAll { $0.until < time }
  }

  /// A clock that is set back leaves times in the future behind: an outage until tomorrow would excuse everything until
  /// then.
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
