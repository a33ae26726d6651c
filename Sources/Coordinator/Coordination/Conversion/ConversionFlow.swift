import CommandEngine
import CountersignMessages
import CountersignTelemetry

struct ConversionFlow: Flow {
  let conversions: Conversions
  private let listener: ConversionListener
  private let areCommandsTaken: @Sendable () -> Bool

  init(
    _ conversions: Conversions, startedAt: UnixTime, longestSilence: Duration = ConversionOutages.longestSilence,
    isShared: Bool = false, areCommandsTaken: @escaping @Sendable () -> Bool
  ) {
    self.conversions = conversions
    self.areCommandsTaken = areCommandsTaken
    listener = ConversionListener(
      conversions, startedAt: startedAt, longestSilence: longestSilence, hearing: isShared ? ConversionHearing() : nil)
  }

  /// Restores the outages of the previous process. The time without a process is one, too. Call before anything is
  /// consumed.
  func begin(_ store: any Store, at now: UnixTime) async throws(StoreError) {
    try await listener.begin(store, at: now)
    try await count(store)
  }

  var commands: [CommandKind] {
    [
      // Its figures come from the store by more than look-ups, so it is not a look; it changes nothing all the same.
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
        try conversions.records.put(ConversionBlock(record), in: &set)
      }
    ]
  }

  /// Runs before anything is ended, so that an outage is stored before anything that it excuses: a crash in between
  /// must not turn that into a block.
  var tasks: [FlowTask] {
    [
      FlowTask(MaintenancePart(rawValue: "note_outages")) { store, now throws(StoreError) in
        try await listener.listen(store, at: now, areCommandsTaken: areCommandsTaken())
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

/// `conversion.list`: blocks in force, and the keys with the most codes that did not come back.
///
/// Everything is read and put in order before the transaction, which others wait for, and which changes nothing. So the
/// answer is not recorded.
struct ConversionListOrder: CommandOrder {
  let limit: Int
  private let conversions: Conversions
  private var list: ConversionList?

  init(_ command: ListConversions, _ conversions: Conversions) throws(APIError) {
    limit = command.limit ?? ListConversions.defaultLimit
    guard (1...ListConversions.maxLimit).contains(limit) else {
      throw APIError(.invalidArgument, "must be from 1 to \(ListConversions.maxLimit)", field: "limit")
    }
    self.conversions = conversions
  }

  var stage: CommandStage? {
    CommandStage { access throws(StoreError) in
      var order = self
      order.list = try await read(access.store, at: access.now())
      return order
    }
  }

  func read(_ store: any Store, at now: UnixTime) async throws(StoreError) -> ConversionList {
    let policy = conversions.policy
    let blocks = try await conversions.records.blocksInForce(from: store, at: now)
    let regions = try await conversions.counters.worst(.region, limit: limit, from: store, at: now)
    let prefixes = try await conversions.counters.worst(.prefix, limit: limit, from: store, at: now)
    return ConversionList(
      enabled: policy.isEnabled, floorPercent: policy.floorPercent,
      windowSeconds: Int(policy.window.components.seconds), blockCount: blocks.count,
      blocks: blocks.prefix(limit).map(ConversionList.Block.init), regions: regions.map(ConversionList.Figures.init),
      prefixes: prefixes.map(ConversionList.Figures.init))
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    guard let list else { return CommandAnswer(.notStored) }
    return try CommandAnswer(list)
  }
}

/// Only a stored block can be lifted: operators know of no other.
struct ConversionLiftOrder: CommandOrder {
  let key: String
  let conversions: Conversions
  let actID = MessageID.make()

  var fingerprint: [UInt8] { CommandFingerprint.hash(LiftConversionBlock.type.text, [key]) }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    guard let block = try conversions.records.block(key, in: set), block.isInForce(at: set.now) else {
      return CommandAnswer(.notBlocked)
    }
    let lifted = ConversionLifted(try conversions.lift(block, in: &set), at: set.now)
    try ActRecord.note(LiftConversionBlock.routingKey, on: key, id: actID, envelope, in: &set)
    try set.send(
      .event(lifted, id: block.eventID("lifted"), correlationID: key, cause: envelope, at: set.now))
    return try CommandAnswer(lifted)
  }
}

extension APIError {
  static let notBlocked = APIError(
    .invalidArgument, "nothing is blocked under this key: countersign conversion list shows what is", field: "key",
    reason: "NOT_BLOCKED")
}

extension ConversionList.Figures {
  init(_ figures: ConversionFigures) {
    self.init(
      key: figures.key, region: figures.region, sent: figures.counts.sent, verified: figures.counts.verified)
  }
}
