import CommandEngine
import CountersignTelemetry
import Synchronization

/// A time in which no code could come back: the coordinator was down, the broker away, or the database took no writes.
struct ConversionOutage: Sendable, Hashable {
  /// Last time at which codes were known to come back. Identifies the outage, so it never changes.
  var since: UnixTime
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
  private var heardAt: UnixTime

  init(startedAt: UnixTime) {
    heardAt = startedAt
  }

  /// A silence that was too long is an outage that has just ended.
  mutating func hear(at now: UnixTime, longestSilence: Duration = longestSilence) {
    setBack(to: now)
    if now - heardAt > longestSilence { note(at: now) }
    heardAt = now
  }

  /// Records that codes came back at a time, as another coordinator knew.
  mutating func hear(of time: UnixTime) {
    heardAt = max(heardAt, time)
  }

  mutating func note(at now: UnixTime) {
    setBack(to: now)
    if let last = all.indices.last, heardAt <= all[last].until + Self.shortestGap {
      all[last].until = max(all[last].until, now)
    } else {
      add(ConversionOutage(since: min(heardAt, now), until: now))
    }
  }

  mutating func restore(_ outages: [ConversionOutage]) {
    for outage in outages { add(outage) }
  }

  mutating func forget(before time: UnixTime) {
    all.removeAll { $0.until < time }
  }

  /// A clock that is set back leaves times in the future behind: an outage until tomorrow would excuse everything until
  /// then.
  private mutating func setBack(to now: UnixTime) {
    heardAt = min(heardAt, now)
    for index in all.indices where all[index].until > now + StoreLimits.maxAhead {
      all[index].until = max(all[index].since, now)
    }
  }

  private mutating func add(_ outage: ConversionOutage) {
    all.append(outage)
    guard all.count > Self.maxCount else { return }
    all[1].since = all[0].since
    all.removeFirst()
  }
}

final class ConversionListener: Sendable {
  private struct State {
    var outages: ConversionOutages
    var saved: [ConversionOutage] = []

    var unsaved: [ConversionOutage] { outages.all.filter { !saved.contains($0) } }
  }

  private let conversions: Conversions
  private let longestSilence: Duration
  /// Knowledge that coordinators share about each other. `nil` for one that is alone.
  private let hearing: ConversionHearing?
  private let state: Mutex<State>

  init(_ conversions: Conversions, startedAt: UnixTime, longestSilence: Duration, hearing: ConversionHearing?) {
    self.conversions = conversions
    self.longestSilence = longestSilence
    self.hearing = hearing
    state = Mutex(State(outages: ConversionOutages(startedAt: startedAt)))
  }

  func begin(_ store: any Store, at now: UnixTime) async throws(StoreError) {
    var keys = StoreKeys()
    try conversions.records.addOutages(to: &keys)
    hearing?.addKeys(to: &keys)
    let set = try await store.read(keys, at: now)
    let (stored, heardAt) = (try conversions.records.outages(in: set), try hearing?.heardAt(in: set))
    state.withLock { state in
      state.saved = stored
      state.outages.restore(stored)
      // A coordinator that joins others interrupts nothing.
      if !hear(of: heardAt, at: now, &state) { note(at: now, &state) }
    }
    try await save(in: store, at: now)
  }

  func listen(_ store: any Store, at now: UnixTime, areCommandsTaken areTaken: Bool) async throws(StoreError) {
    let heardAt: UnixTime?
    do throws(StoreError) {
      heardAt = try await heard(store, at: now)
    } catch {
      // A store that cannot be read for long is found by the silence.
      if !areTaken { state.withLock { note(at: now, &$0) } }
      conversions.setUnsaved(state.withLock(\.unsaved))
      throw error
    }
    state.withLock { state in
      let areOthersTaken = hear(of: heardAt, at: now, &state)
      if areTaken {
        state.outages.hear(at: now, longestSilence: longestSilence)
      } else if !areOthersTaken {
        note(at: now, &state)
      }
    }
    let isOld = heardAt.map { ConversionHearing.isOld($0, at: now) } ?? true
    try await save(in: store, at: now, isRenewing: areTaken && isOld)
  }

  private func heard(_ store: any Store, at now: UnixTime) async throws(StoreError) -> UnixTime? {
    guard let hearing else { return nil }
    var keys = StoreKeys()
    hearing.addKeys(to: &keys)
    return try hearing.heardAt(in: await store.read(keys, at: now))
  }

  private func hear(of heardAt: UnixTime?, at now: UnixTime, _ state: inout State) -> Bool {
    guard let heardAt, ConversionHearing.isRecent(heardAt, at: now) else { return false }
    state.outages.hear(of: heardAt)
    return true
  }

  private func note(at now: UnixTime, _ state: inout State) {
    state.outages.forget(before: now - conversions.records.memory)
    state.outages.note(at: now)
  }

  /// Writes only when there is something to write, which is rare: an outage, or the time that others go by.
  private func save(in store: any Store, at now: UnixTime, isRenewing: Bool = false) async throws(StoreError) {
    let (all, saved, unsaved) = state.withLock { ($0.outages.all, $0.saved, $0.unsaved) }
    conversions.setUnsaved(unsaved)
    let renewed = isRenewing ? hearing : nil
    guard all != saved || renewed != nil else { return }
    var keys = StoreKeys()
    try conversions.records.addOutages(to: &keys)
    renewed?.addKeys(to: &keys)
    let records = conversions.records
    let outcome = try await store.transact(keys, at: now) { set throws(StoreError) -> Void in
      try records.replace(saved, by: all, in: &set)
      try renewed?.renew(in: &set)
    }
    if case .conflict(let conflict) = outcome { throw StoreError(.busy, conflict.description) }
    conversions.setUnsaved(
      state.withLock { state in
        state.saved = all
        return state.unsaved
      })
  }
}
