import CountersignTelemetry
import PostgreSQL
import Synchronization

/// The clock of the database's server, which all processes on it go by: its time when it was asked last, and the
/// monotonic time since.
///
/// The host's clock may differ by any constant. While the server's goes on evenly the time never goes back.
final class ServerClock: WallClock {
  /// Difference from the host's clock that is reported, and change of the server's clock that needs a new session.
  static let tolerance = Duration.seconds(2)
  /// Difference at which a reported one is over.
  private static let agreement = Duration.seconds(1)

  /// A reading of the server's clock, with this side's clocks before the question and after the answer.
  struct Reading: Sendable {
    var server: UnixTime
    var asked: ContinuousClock.Instant
    var answered: ContinuousClock.Instant
    /// The host's clock when the answer came.
    var host: UnixTime
  }

  private struct State {
    /// The server's time at ``ServerClock/origin``. `nil` before the first session.
    var atOrigin: UnixTime?
    var shown: UnixTime?
    var steps = 0
    var difference = Duration.zero
    var isApart = false
  }

  private let state = Mutex(State())
  private let host: any WallClock
  private let instant: @Sendable () -> ContinuousClock.Instant
  private let origin: ContinuousClock.Instant
  private let logger: Logger?

  init(
    host: any WallClock, logger: Logger?, instant: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.host = host
    self.logger = logger
    self.instant = instant
    origin = instant()
  }

  func now() -> UnixTime {
    let instant = instant()
    return state.withLock { state in
      guard let atOrigin = state.atOrigin else { return host.now() }
      let now = max(atOrigin + (instant - origin), state.shown ?? atOrigin)
      state.shown = now
      return now
    }
  }

  /// Number of times that the server's clock was set, as far as this side has followed. What began before a step has a
  /// time that no longer counts.
  var steps: Int { state.withLock { $0.steps } }

  /// Time by which the server is ahead of the host's clock. Negative when it is behind.
  var difference: Duration { state.withLock { $0.difference } }

  // MARK: Readings

  /// The server's clock in SQL: milliseconds since 1970.
  static let sql = "(floor(extract(epoch FROM clock_timestamp()) * 1000))::bigint"

  func read(_ session: PostgreSQLSession) throws(StoreError) -> Reading {
    let asked = instant()
    return try reading(Int64(session.run("SELECT \(Self.sql)")[0].int(0)), asked: asked)
  }

  func reading(_ milliseconds: Int64, asked: ContinuousClock.Instant) -> Reading {
    Reading(server: UnixTime(milliseconds: milliseconds), asked: asked, answered: instant(), host: host.now())
  }

  func ask() -> ContinuousClock.Instant { instant() }

  /// Takes over a reading at the begin of a session, when nothing is under way.
  func begin(_ reading: Reading) {
    let isStep = state.withLock { state in
      guard let atOrigin = state.atOrigin, let deviation = deviation(of: reading, state) else {
        state.atOrigin = middle(reading)
        return false
      }
      guard Self.isStep(deviation) else {
        state.atOrigin = atOrigin + deviation
        return false
      }
      (state.atOrigin, state.shown) = (middle(reading), nil)
      state.steps += 1
      return true
    }
    if isStep {
      logger?.warning(
        "the clock of the database was set, or this host stood still; its time counts from now on",
        [.hint: "run NTP on the server, and on a standby that takes its place"])
    }
    compare(reading)
  }

  func follow(_ reading: Reading) -> Bool {
    let isEven = state.withLock { state in
      guard let atOrigin = state.atOrigin, let deviation = deviation(of: reading, state) else { return true }
      if Self.isStep(deviation) { return false }
      state.atOrigin = atOrigin + deviation
      return true
    }
    if isEven { compare(reading) }
    return isEven
  }

  private static func isStep(_ deviation: Duration) -> Bool { deviation >= tolerance || deviation <= .zero - tolerance }

  /// Distance of the time at the origin from what a reading allows: the server read its clock between question
  /// and answer. A slow answer allows much, and so moves nothing.
  private func deviation(of reading: Reading, _ state: State) -> Duration? {
    guard let atOrigin = state.atOrigin else { return nil }
    let (least, most) = (reading.server - (reading.answered - origin), reading.server - (reading.asked - origin))
    if atOrigin < least { return least - atOrigin }
    return atOrigin > most ? most - atOrigin : .zero
  }

  private func middle(_ reading: Reading) -> UnixTime {
    reading.server - (reading.asked - origin + (reading.answered - reading.asked) / 2)
  }

  // MARK: Difference

  private func compare(_ reading: Reading) {
    let least = reading.server - reading.host
    let most = least + (reading.answered - reading.asked)
    let difference = least > .zero ? least : most < .zero ? most : .zero
    let verdict: Bool? = state.withLock { state in
      state.difference = difference
      let size = difference < .zero ? .zero - difference : difference
      let isApart = state.isApart ? size >= Self.agreement : size > Self.tolerance
      guard isApart != state.isApart else { return nil }
      state.isApart = isApart
      return isApart
    }
    guard let verdict else { return }
    if verdict {
      logger?.warning(
        "this host's clock differs from the database's, which counts",
        ["difference": "\(difference)", .hint: "run NTP on both"])
    } else {
      logger?.info("this host's clock agrees with the database's again")
    }
  }
}
