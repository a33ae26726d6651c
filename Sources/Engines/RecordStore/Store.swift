public import CountersignTelemetry

/// Durable state of a stateful service: records, inbox, counters and outbox, each change of which is atomic with the
/// messages it causes.
///
/// Several stores, in several processes, may share the same data. Nothing may assume that one writer is alone.
public protocol Store: Sendable {
  /// Loads keys without changing anything. Waits for no writer.
  ///
  /// With ``write(_:settling:)`` it makes a transaction around an asynchronous step: what it loaded is guarded.
  /// - Parameters:
  ///   - keys: all that is looked up in the set.
  ///   - now: time of the look.
  /// - Returns: everything that was committed when it was called.
  /// - Throws: ``StoreError``.
  func read(_ keys: StoreKeys, at now: UnixTime) async throws(StoreError) -> WorkingSet

  /// Runs a body that only looks, as ``transact(_:at:settling:_:)`` does, on one committed state. Waits for no writer.
  /// - Parameters:
  ///   - first: keys that the body is known to look up.
  ///   - now: time of the look.
  ///   - body: looks things up, without any effect outside the set. Its changes are dropped.
  /// - Throws: the body's error, or a failure of the store.
  func read<Value: Sendable>(
    _ first: StoreKeys, at now: UnixTime, _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value

  /// Stores the changes of a working set, all or none, if nothing that they rest on has changed since it was loaded.
  ///
  /// Guarded are the records that are changed, unique keys that are taken, and inbox entries. Counters add up.
  /// - Parameters:
  ///   - set: a loaded set with changes.
  ///   - settlement: messages to settle in the same transaction; none is settled unless the outcome is
  ///     ``StoreOutcome/stored(_:messages:)``.
  /// - Throws: ``StoreError``; nothing is stored then, except that an ``StoreError/Code/io`` leaves it open.
  func write(
    _ set: WorkingSet, settling settlement: OutboxSettlement
  ) async throws(StoreError) -> StoreOutcome<Void>

  /// Runs a body on what it looks up, and stores its changes, all in one transaction.
  ///
  /// A run that looks up what is not loaded is incomplete: its changes and its outcome are dropped, all that it missed
  /// is loaded at once, and the body runs again, up to ``StoreLimits/maxRounds`` loads. Not cancelable: its caller learns
  /// what became of it.
  /// - Parameters:
  ///   - first: keys that the body is known to look up: those of hot commands save them a run.
  ///   - now: time of the transaction.
  ///   - settlement: messages to settle in the same transaction; none is settled unless the outcome is
  ///     ``StoreOutcome/stored(_:messages:)``.
  ///   - body: changes the set without any effect outside it; short, because others may wait for it. It also runs again,
  ///     on a new set, when another writer was faster, up to ``StoreLimits/maxAttempts`` times.
  /// - Returns: the body's result, and the messages to publish in the order they were sent, once they are committed.
  /// - Throws: the body's error, or a failure of the store; nothing is stored then.
  func transact<Value: Sendable>(
    _ first: StoreKeys, at now: UnixTime, settling settlement: OutboxSettlement,
    _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Value
  ) async throws(StoreError) -> StoreOutcome<Value>

  /// Hands due records to a body, those due longest first, and stores its changes, all in one transaction.
  ///
  /// Of two sweeps at once each gets other records. Rows that the store cannot read are skipped: they are
  /// deleted when their ``Record/discardAt`` has passed, else put off by the claim's pause. So is a record that the body
  /// leaves as it was. Messages are left to ``claimMessages(limit:at:)``, since a sweep must not wait for an absent
  /// broker.
  /// - Parameters:
  ///   - claim: kind and number of the records.
  ///   - now: time of the sweep.
  ///   - body: changes the records, each in ``WorkingSet/attempt(_:)``, so that one does not fail all. It runs again when
  ///     it has looked up what is not loaded, as that of ``transact(_:at:settling:_:)`` does.
  /// - Throws: the body's error, or a failure of the store; nothing is stored then.
  func sweep<Result: Sendable>(
    _ claim: DueClaim, at now: UnixTime,
    _ body: @escaping @Sendable ([Record], inout WorkingSet) throws(StoreError) -> Result
  ) async throws(StoreError) -> StoreOutcome<Swept<Result>>

  /// Takes messages whose time has come: postponed ones of this store, and all that a dead one left, in its order.
  /// A held message waits until its hold is over, also when its owner died.
  ///
  /// They belong to the caller until it settles them, or its process ends. No two claims return the same message.
  /// - Parameters:
  ///   - limit: 1...``StoreLimits/maxClaimedMessages``.
  ///   - now: time of the claim.
  /// - Throws: ``StoreError``.
  func claimMessages(limit: Int, at now: UnixTime) async throws(StoreError) -> [StoredMessage]

  /// Takes the messages that were held until the replies to these commands were out.
  ///
  /// They belong to the caller like claimed ones.
  /// - Throws: ``StoreError``.
  func release(heldBy commands: [InboxKey], at now: UnixTime) async throws(StoreError) -> [StoredMessage]

  /// Messages of some that are still the caller's: it asks right before it publishes them, and publishes no others.
  ///
  /// A session that the store has lost, or has not heard of for seconds, may be dead to others, who claim what it had
  /// in hand.
  /// - Parameter messages: messages that this store returned, and that were not settled.
  /// - Returns: those that may be published, in their order.
  func owned(_ messages: [StoredMessage]) async -> [StoredMessage]

  /// Settles published messages by themselves. Cheaper with the next transaction.
  /// - Throws: ``StoreError``; none is settled then.
  func settle(_ settlement: OutboxSettlement) async throws(StoreError)

  /// Deletes rows that are over, the oldest first.
  /// - Parameters:
  ///   - part: part of the store.
  ///   - limit: 1...``StoreLimits/maxPurgedRows``.
  /// - Returns: the number of deleted rows; as many as the limit if there may be more.
  /// - Throws: ``StoreError``.
  func purge(_ part: StorePart, limit: Int, at now: UnixTime) async throws(StoreError) -> Int

  /// Writes something, and undoes it, in each part of the store.
  /// - Throws: ``StoreError`` when the store does not take writes.
  func probe() async throws(StoreError)

  /// Figures of the whole store, for gauges. Counts rows: for a start, not for every second.
  /// - Throws: ``StoreError``.
  func figures() async throws(StoreError) -> StoreFigures

  /// Sums the counters whose names begin alike, in the order of the bytes of their names. Those whose sum is not above 0
  /// are left out. Reads all of their cells: for operators, not for a batch.
  /// - Parameters:
  ///   - prefix: beginning of the names, 1...``StoreLimits/maxHashBytes`` bytes.
  ///   - slot: the oldest slot of interest.
  ///   - limit: 1...``StoreLimits/maxListedCounters``.
  /// - Throws: ``StoreError``.
  func counters(named prefix: [UInt8], since slot: Int64, limit: Int) async throws(StoreError) -> [CounterSum]

  /// Counts the unique keys that are held and the memberships of groups under one name. A gauge at the start: keys that
  /// a deleted unreadable record left behind may be counted.
  /// - Throws: ``StoreError``.
  func count(_ space: KeySpace) async throws(StoreError) -> Int

  /// Deletes the inbox entries whose recorded reply, or the note in its place, contains a text: their commands could be
  /// carried out again. Reads all entries: for operators.
  /// - Parameter text: the bytes to look for; of an empty one nothing is deleted.
  /// - Returns: the number of deleted entries.
  /// - Throws: ``StoreError``; entries that were found before stay deleted.
  func forget(repliesContaining text: [UInt8]) async throws(StoreError) -> Int

  /// Deletes all counters: everything that is counted starts from zero. Deletes them in one transaction, which others
  /// wait for: for development.
  /// - Returns: the number of deleted cells.
  /// - Throws: ``StoreError``; nothing is deleted then.
  func forgetCounters() async throws(StoreError) -> Int

  /// Ends the use of the store. Its unsettled messages are claimed by the next one, as those of a process that died.
  func close() async
}

extension Store {
  /// Runs a transaction that settles nothing. See ``transact(_:at:settling:_:)``.
  public func transact<Value: Sendable>(
    _ first: StoreKeys = StoreKeys(), at now: UnixTime,
    _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> Value
  ) async throws(StoreError) -> StoreOutcome<Value> {
    try await transact(first, at: now, settling: OutboxSettlement(), body)
  }

  /// Stores a set and settles nothing. See ``write(_:settling:)``.
  public func write(_ set: WorkingSet) async throws(StoreError) -> StoreOutcome<Void> {
    try await write(set, settling: OutboxSettlement())
  }
}

/// Bounds of what a store takes, the same in every implementation: a value that one store takes fits into all.
public enum StoreLimits {
  /// Bytes of an inbox key: sender and ID of a message have up to 255 each.
  public static let maxInboxKeyBytes = 1_024
  /// Bytes of a record's ID.
  public static let maxIDBytes = 128
  /// Bytes of the name of a record kind, or of one of its keys.
  public static let maxNameBytes = 40
  /// Bytes of the hash in a unique key, a group key or a counter key.
  public static let maxHashBytes = 64
  /// Bytes of a fingerprint in the inbox.
  public static let maxFingerprintBytes = 256
  /// Keys of one record, unique keys and group keys each.
  public static let maxKeysPerRecord = 64
  /// Bytes of a record's body.
  public static let maxBodyBytes = 1 << 20
  /// Bytes of a recorded reply, or of the note in its place.
  public static let maxReplyBytes = 1 << 18
  /// Bytes of an outgoing message: a body of 64 KiB, sealed, with its properties.
  public static let maxMessageBytes = 1 << 20
  /// Loads of one transaction.
  public static let maxRounds = 16
  /// Keys of all loads of one transaction.
  public static let maxKeysPerLoad = 65_536
  /// Records of one page of a group.
  public static let maxGroupPage = 256
  /// Newest cells that are loaded of one counter. A limit of up to 64 counts by the millisecond, and a larger one by
  /// 64ths of its window, so older cells change no decision.
  public static let maxCellsPerCounter = 128
  /// Counters of one list.
  public static let maxListedCounters = 131_072
  /// Due records of one sweep.
  public static let maxDueRecords = 1_024
  /// Messages of one claim.
  public static let maxClaimedMessages = 1_024
  /// Rows of one purge.
  public static let maxPurgedRows = 4_096
  /// Longest time for which a message is postponed or held. One that is due later was put off before the clock was set
  /// back, and is due at once.
  public static let longestDelay = Duration.seconds(30)
  /// Time by which what was loaded may be ahead of now: another process wrote it a little later, by a clock that is a
  /// little ahead. What is further ahead was written before the clock was set back.
  public static let maxAhead = Duration.seconds(10)
  /// Attempts of one transaction whose keys another writer changes meanwhile.
  public static let maxAttempts = 5

  /// Time after which no message is due that was put off by now.
  static func horizon(_ now: UnixTime) -> UnixTime { now + longestDelay + maxAhead }
}
