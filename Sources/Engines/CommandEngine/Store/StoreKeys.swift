/// Everything that a batch of commands looks up, loaded in one go.
///
/// A key that is added twice is loaded once.
public struct StoreKeys: Sendable {
  /// Page of the records that share a group key.
  public struct GroupPage: Sendable, Hashable {
    /// ID behind which the page begins; empty for the first page. IDs are compared by their bytes.
    public var behind: String
    /// Records of the page, 1...``StoreLimits/maxGroupPage``.
    public var limit: Int

    /// - Parameters:
    ///   - behind: the last ID of the page before; empty for the first page.
    ///   - limit: records of the page, 1...``StoreLimits/maxGroupPage``.
    public init(behind: String = "", limit: Int = StoreLimits.maxGroupPage) {
      self.behind = behind
      self.limit = limit
    }
  }

  /// Inbox keys of messages.
  public private(set) var messages: [InboxKey] = []
  /// Records by their IDs, each once: many commands look up the same.
  public private(set) var records: [RecordID] = []
  private var knownRecords: Set<RecordID> = []
  /// Unique keys whose holders are looked up.
  public private(set) var holders: [UniqueKey] = []
  /// Groups, one page each.
  public private(set) var groups: [GroupKey: GroupPage] = [:]
  /// Counters, with the oldest slot that is of interest.
  public private(set) var counters: [CounterKey: Int64] = [:]

  public init() {}

  /// Number of keys.
  public var count: Int { messages.count + records.count + holders.count + groups.count + counters.count }

  /// Whether there is nothing to load.
  public var isEmpty: Bool { count == 0 }

  /// Adds the inbox entry of a message.
  public mutating func add(message key: InboxKey) { messages.append(key) }

  /// Adds a record by its ID.
  public mutating func add(record id: RecordID) {
    if knownRecords.insert(id).inserted { records.append(id) }
  }

  /// Adds the record that holds a unique key.
  public mutating func add(holderOf key: UniqueKey) { holders.append(key) }

  /// Adds a page of a group. A later page of the same group takes the place of an earlier one.
  public mutating func add(group key: GroupKey, _ page: GroupPage = GroupPage()) { groups[key] = page }

  /// Adds the newest cells of a counter, up to ``StoreLimits/maxCellsPerCounter``.
  /// - Parameter slot: the oldest slot of interest.
  public mutating func add(counter key: CounterKey, since slot: Int64) {
    Self.lower(&counters[key, default: slot], to: slot)
  }

  private static func lower(_ slot: inout Int64, to other: Int64) {
    if other < slot { slot = other }
  }

  /// Adds all keys of another value.
  public mutating func add(_ other: StoreKeys) {
    messages += other.messages
    for id in other.records { add(record: id) }
    holders += other.holders
    for (key, page) in other.groups { groups[key] = page }
    for (key, slot) in other.counters { add(counter: key, since: slot) }
  }

  /// - Throws: ``StoreError/Code/tooLarge`` when there are more keys, or a larger page, than a store takes.
  func check() throws(StoreError) {
    try StoreError.check(count, 0...StoreLimits.maxKeysPerLoad, "a number of keys")
    for page in groups.values { try StoreError.check(page.limit, 1...StoreLimits.maxGroupPage, "a page of a group") }
  }
}

/// The two rounds of a load.
public struct StoreLoad: Sendable {
  /// Keys that follow from what the first round found: the record a handle leads to, the receipts of a token.
  public typealias SecondRound = @Sendable (WorkingSet) throws(StoreError) -> StoreKeys

  /// Keys that are known from the commands alone.
  public var keys: StoreKeys
  /// Makes the keys of the second round; there is no third.
  public var then: SecondRound?

  /// - Parameters:
  ///   - keys: keys of the first round.
  ///   - then: makes the keys of the second round; it may run more than once.
  public init(_ keys: StoreKeys = StoreKeys(), then: SecondRound? = nil) {
    self.keys = keys
    self.then = then
  }
}
