import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Synchronization

/// `conversion.list` and `conversion.lift`, the ends of blocks, and the outages that excuse missing codes.
struct ConversionFlow: Flow {
  let conversions: Conversions
  private let listener: ConversionListener

  /// - Parameters:
  ///   - conversions: the conversions that the verifications are counted for.
  ///   - startedAt: start of the process.
  ///   - longestSilence: see ``ConversionOutages/longestSilence``.
  ///   - areCommandsTaken: whether commands can be sent and carried out at present: the broker accepts and delivers
  ///     messages, and the store takes their changes.
  init(
    _ conversions: Conversions, startedAt: UnixTime, longestSilence: Duration = ConversionOutages.longestSilence,
    areCommandsTaken: @escaping @Sendable () -> Bool
  ) {
    self.conversions = conversions
    listener = ConversionListener(
      conversions, startedAt: startedAt, longestSilence: longestSilence, areCommandsTaken: areCommandsTaken)
  }

  /// Restores the outages of the previous process; the time without a process is one, too. Call before anything is
  /// consumed.
  /// - Throws: ``StoreError``.
  func begin(_ store: any Store, at now: UnixTime) async throws(StoreError) {
    try await listener.begin(store, at: now)
    try await count(store)
  }

  var commands: [CommandKind] {
    [
      // Its figures come from the store by more than look-ups, so it is no look; it changes nothing all the same.
      CommandKind(ListConversions.self, users: .operators) { [conversions] command, _, _ throws(APIError) in
        try ConversionListOrder(command, conversions)
      },
      CommandKind(LiftConversionBlock.self, users: .operators) { [conversions] command, _, _ throws(APIError) in
        ConversionLiftOrder(key: command.key, conversions: conversions)
      },
    ]
  }

  var dueRecords: [DueRecords] {
    [
      // A block that has ended by itself is kept for a while: verifications that began before its end do not count.
      DueRecords(ConversionRecords.blockKind, part: MaintenancePart(rawValue: "store_blocks")) {
        [conversions] record, set throws(StoreError) in
        try conversions.put(ConversionBlock(record), in: &set)
      }
    ]
  }

  /// Runs before anything is ended, so that an outage is stored before anything that it excuses: a crash in between must
  /// not turn that into a block.
  var tasks: [FlowTask] {
    [
      FlowTask(MaintenancePart(rawValue: "note_outages")) { store, now throws(StoreError) in
        try await listener.listen(store, at: now)
        try await count(store)
        return false
      }
    ]
  }

  private func count(_ store: any Store) async throws(StoreError) {
    conversions.setBlockCount(try await store.count(ConversionRecords.allBlocks))
    for scope in ConversionBlock.Scope.allCases {
      let count = try await store.count(ConversionRecords.inForce(scope))
      conversions.metrics.blocks.with(scope.rawValue).set(Double(count))
    }
  }
}

/// Notices outages, and stores them while they last.
private final class ConversionListener: Sendable {
  private struct State {
    var outages: ConversionOutages
    /// Outages as they are stored.
    var saved: [ConversionOutage] = []

    var unsaved: [ConversionOutage] { outages.all.filter { !saved.contains($0) } }
  }

  private let conversions: Conversions
  private let longestSilence: Duration
  private let areCommandsTaken: @Sendable () -> Bool
  private let state: Mutex<State>

  init(
    _ conversions: Conversions, startedAt: UnixTime, longestSilence: Duration,
    areCommandsTaken: @escaping @Sendable () -> Bool
  ) {
    self.conversions = conversions
    self.longestSilence = longestSilence
    self.areCommandsTaken = areCommandsTaken
    state = Mutex(State(outages: ConversionOutages(startedAt: startedAt)))
  }

  func begin(_ store: any Store, at now: UnixTime) async throws(StoreError) {
    var keys = StoreKeys()
    try conversions.records.addOutages(to: &keys)
    let stored = try conversions.records.outages(in: await store.read(StoreLoad(keys), at: now))
    state.withLock { state in
      state.saved = stored
      state.outages.restore(stored)
      note(at: now, &state)
    }
    try await save(in: store, at: now)
  }

  /// Records whether codes can come back, and stores what follows.
  func listen(_ store: any Store, at now: UnixTime) async throws(StoreError) {
    let areTaken = areCommandsTaken()
    state.withLock { state in
      if areTaken {
        _ = state.outages.hear(at: now, longestSilence: longestSilence)
      } else {
        note(at: now, &state)
      }
    }
    try await save(in: store, at: now)
  }

  private func note(at now: UnixTime, _ state: inout State) {
    state.outages.forget(before: now - conversions.records.memory)
    _ = state.outages.note(at: now)
  }

  /// Writes only when there is something to write, which is rare.
  private func save(in store: any Store, at now: UnixTime) async throws(StoreError) {
    let (all, saved, unsaved) = state.withLock { ($0.outages.all, $0.saved, $0.unsaved) }
    conversions.setUnsaved(unsaved)
    guard all != saved else { return }
    var keys = StoreKeys()
    try conversions.records.addOutages(to: &keys)
    let records = conversions.records
    let outcome = try await store.transact(StoreLoad(keys), at: now) { set throws(StoreError) -> Void in
      try records.replace(saved, by: all, in: &set)
    }
    if case .conflict(let conflict) = outcome { throw StoreError(.busy, conflict.description) }
    conversions.setUnsaved(
      state.withLock { state in
        state.saved = all
        return state.unsaved
      })
  }
}
