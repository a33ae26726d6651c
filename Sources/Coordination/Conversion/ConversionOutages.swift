import Telemetry

/// A time in which nobody could give a code back: the coordinator was down, or the broker away.
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

  /// Oldest first.
  private(set) var all: [ConversionOutage] = []
  /// When it was last known that codes could come back.
  private var heardAt: UnixTime

  /// - Parameter startedAt: when the process began to listen.
  init(startedAt: UnixTime) {
    heardAt = startedAt
  }

  /// Codes can come back now.
  mutating func hear(at now: UnixTime) {
    heardAt = max(heardAt, now)
  }

  /// No code can come back now.
  /// - Returns: the outage, as it has to be stored.
  mutating func note(at now: UnixTime) -> ConversionOutage {
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

  private mutating func add(_ outage: ConversionOutage) {
    all.append(outage)
    guard all.count > Self.maxCount else { return }
    all[1].since = all[0].since
    all.removeFirst()
  }
}
