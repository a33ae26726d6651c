import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

struct ConversionRecords: Sendable {
  static let blockKind = RecordKind("conversionBlock")
  static let outageKind = RecordKind("conversionOutage")
  static let allBlocks = KeySpace(blockKind, "all")
  private static let allOutages = KeySpace(outageKind, "all")

  static func inForce(_ scope: ConversionBlock.Scope) -> KeySpace {
    switch scope {
    case .prefix: KeySpace(blockKind, "prefixInForce")
    case .region: KeySpace(blockKind, "regionInForce")
    }
  }

  /// Time after its end for which a block or an outage is still needed: verifications that began before it may count
  /// until then.
  let memory: Duration

  private static func group(_ space: KeySpace) throws(StoreError) -> GroupKey { try GroupKey(space, [1]) }

  // MARK: Blocks

  func addKeys(ofBlock key: String, to keys: inout StoreKeys) {
    keys.add(Self.blockKind, key)
  }

  /// The last block of a key, also one that has ended. One that cannot be read blocks nothing.
  func block(_ key: String, in set: WorkingSet) throws(StoreError) -> ConversionBlock? {
    do throws(StoreError) {
      return try set.record(Self.blockKind, key).flatMap { try? ConversionBlock($0) }
    } catch {
      guard error.fault == .content else { throw error }
      return nil
    }
  }

  /// A block in force is due when it ends by itself.
  func put(_ block: ConversionBlock, in set: inout WorkingSet) throws(StoreError) {
    let isInForce = block.isInForce(at: set.now)
    var groups = [try Self.group(Self.allBlocks)]
    if isInForce { groups.append(try Self.group(Self.inForce(block.scope))) }
    try set.store(
      RecordID(stored: Self.blockKind, block.key), block, dueAt: isInForce ? block.until : nil,
      discardAt: block.end + memory, groupKeys: groups)
  }

  /// The latest first.
  func blocksInForce(from store: any Store, at now: UnixTime) async throws(StoreError) -> [ConversionBlock] {
    var blocks: [ConversionBlock] = []
    for scope in ConversionBlock.Scope.allCases {
      let group = try Self.group(Self.inForce(scope))
      var last: String? = ""
      while let behind = last {
        let page = try await store.read(StoreKeys(), at: now) { set throws(StoreError) in
          try set.group(group, StoreKeys.GroupPage(behind: behind))
        }
        blocks += page.records.compactMap { try? ConversionBlock($0) }.filter { $0.isInForce(at: now) }
        last = page.isComplete ? nil : page.records.last?.id.text
      }
    }
    return blocks.sorted { ($1.blockedAt, $0.key) < ($0.blockedAt, $1.key) }
  }

  // MARK: Outages

  func addOutages(to keys: inout StoreKeys) throws(StoreError) {
    keys.add(group: try Self.group(Self.allOutages))
  }

  /// The stored outages, oldest first, without any that cannot be read.
  func outages(in set: WorkingSet) throws(StoreError) -> [ConversionOutage] {
    try set.group(Self.group(Self.allOutages)).records.compactMap { try? ConversionOutage($0) }
      .sorted { $0.since < $1.since }
  }

  func put(_ outage: ConversionOutage, in set: inout WorkingSet) throws(StoreError) {
    guard let id = outage.recordID else { return }
    // A stored one was loaded with its group.
    try set.store(
      id, outage, isNew: true, dueAt: nil, discardAt: outage.until + memory,
      groupKeys: [try Self.group(Self.allOutages)])
  }

  /// Stores what has changed, and merges the oldest outages when there are too many.
  func replace(_ saved: [ConversionOutage], by all: [ConversionOutage], in set: inout WorkingSet) throws(StoreError) {
    let stored = Set(try outages(in: set).map(\.since))
    for outage in saved where stored.contains(outage.since) && !all.contains(where: { $0.since == outage.since }) {
      try remove(outage, in: &set)
    }
    for outage in all where !saved.contains(outage) || !stored.contains(outage.since) { try put(outage, in: &set) }
    var left = try outages(in: set)
    while left.count > ConversionOutages.maxCount {
      let next = left.remove(at: 1)
      left[0].until = max(left[0].until, next.until)
      try remove(next, in: &set)
      try put(left[0], in: &set)
    }
  }

  private func remove(_ outage: ConversionOutage, in set: inout WorkingSet) throws(StoreError) {
    if let id = outage.recordID { try set.remove(id) }
  }
}

// MARK: Bodies

extension ConversionBlock: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ block: Self?) throws(UnreadableFields) {
    scope = try fields.required(1, block?.scope)
    key = record.id.text
    region = try fields.required(2, block?.region)
    blockedAt = try fields.required(3, block?.blockedAt)
    until = try fields.required(4, block?.until)
    liftedAt = fields.optional(5, block?.liftedAt)
    counts = ConversionCounts(
      sent: try fields.required(6, block?.counts.sent), verified: try fields.required(7, block?.counts.verified))
  }
}

extension ConversionOutage: StoredRecord {
  fileprivate var recordID: RecordID? { RecordID(ConversionRecords.outageKind, String(since.milliseconds)) }

  init(_ record: Record, _ fields: inout FieldCoder, _ outage: Self?) throws(UnreadableFields) {
    since = UnixTime(milliseconds: try FieldCoder.present(Int64(record.id.text)))
    until = try fields.required(1, outage?.until)
  }
}

struct ConversionBlock: Sendable, Hashable {
  /// Stored, so it never changes its meaning.
  enum Scope: String, Sendable, CaseIterable {
    case prefix, region
  }

  var scope: Scope
  /// The prefix or the region. A region's code has no `+`, and the calling code of numbers without a country (`+883`)
  /// is not the prefix of any number, because all of those have more than four digits after it; so a key is unique
  /// without its scope.
  var key: String
  var region: String
  var blockedAt: UnixTime
  var until: UnixTime
  var liftedAt: UnixTime?
  var counts: ConversionCounts

  /// End of the block, past or future. Verifications that began before it no longer count against the key: they were
  /// judged already, or began while judged traffic continued.
  var end: UnixTime { liftedAt ?? until }

  func isInForce(at now: UnixTime) -> Bool {
    now < end
  }

  func eventID(_ what: String) -> String {
    "conversion.\(key).\(blockedAt.milliseconds).\(what)"
  }
}

struct ConversionCounts: Sendable, Hashable {
  /// Verifications that have ended and for which an SMS was sent that no provider reports as undelivered.
  var sent = 0
  var verified = 0
}

// MARK: Messages

extension ConversionBlocked {
  init(_ block: ConversionBlock, _ policy: ConversionPolicy) {
    self.init(
      ConversionList.Block(block), floorPercent: policy.floor(of: block.region),
      windowSeconds: Int(policy.window.components.seconds))
  }
}

extension ConversionLifted {
  init(_ block: ConversionBlock, at now: UnixTime) {
    self.init(
      scope: ConversionScope(block.scope), key: block.key, region: block.region, blockedAt: block.blockedAt,
      until: block.until, liftedAt: now)
  }
}

extension ConversionList.Block {
  init(_ block: ConversionBlock) {
    self.init(
      scope: ConversionScope(block.scope), key: block.key, region: block.region, blockedAt: block.blockedAt,
      until: block.until, sent: block.counts.sent, verified: block.counts.verified)
  }
}

extension ConversionScope {
  init(_ scope: ConversionBlock.Scope) {
    switch scope {
    case .prefix: self = .prefix
    case .region: self = .region
    }
  }
}
