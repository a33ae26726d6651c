public import CountersignTelemetry

/// Keys that are loaded in one go.
///
/// A key that is added twice is loaded once.
public struct StoreKeys: Sendable {
  /// Page of the records that share a group key.
  public struct GroupPage: Sendable, Hashable {
    /// ID behind which the page begins. Empty for the first page. IDs are compared by their bytes.
    public var behind: String
    /// Records of the page, 1...``StoreLimits/maxGroupPage``.
    public var limit: Int

    public init(behind: String = "", limit: Int = StoreLimits.maxGroupPage) {
      self.behind = behind
      self.limit = limit
    }
  }

  /// Inbox keys of messages.
  public private(set) var messages: [InboxKey] = []
  private var knownMessages: Set<InboxKey> = []
  /// Records by their IDs: many commands look up the same.
  public private(set) var records: [RecordID] = []
  private var knownRecords: Set<RecordID> = []
  /// Unique keys whose holders are looked up.
  public private(set) var holders: [UniqueKey] = []
  private var knownHolders: Set<UniqueKey> = []
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
  public mutating func add(message key: InboxKey) {
    if knownMessages.insert(key).inserted { messages.append(key) }
  }

  /// Adds a record by its ID.
  public mutating func add(record id: RecordID) {
    if knownRecords.insert(id).inserted { records.append(id) }
  }

  /// Adds the record that holds a unique key.
  public mutating func add(holderOf key: UniqueKey) {
    if knownHolders.insert(key).inserted { holders.append(key) }
  }

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

  mutating func add(_ other: StoreKeys) {
    for key in other.messages { add(message: key) }
    for id in other.records { add(record: id) }
    for key in other.holders { add(holderOf: key) }
    groups.merge(other.groups) { _, new in new }
    for (key, slot) in other.counters { add(counter: key, since: slot) }
  }

  func missing(in set: WorkingSet) -> StoreKeys {
    var missing = StoreKeys()
    for key in messages where set.inbox[key] == nil { missing.add(message: key) }
    for id in records where set.records[id] == nil && !set.unreadable.contains(id) { missing.add(record: id) }
    for key in holders where set.holders[key] == nil && !set.unreadableHolders.contains(key) {
      missing.add(holderOf: key)
    }
    missing.groups = groups.filter { set.groups[$0.key] == nil }
    missing.counters = counters.filter { key, slot in set.counters[key]?.since.map { $0 > slot } ?? true }
    return missing
  }

  func check() throws(StoreError) {
    try StoreError.check(count, 0...StoreLimits.maxKeysPerLoad, "a number of keys")
    for page in groups.values { try StoreError.check(page.limit, 1...StoreLimits.maxGroupPage, "a page of a group") }
  }
}

/// Kind of record: all records of a flow that share the form of their bodies, keys and deadlines.
public struct RecordKind: Sendable, Hashable, CustomStringConvertible {
  /// Name in the store, `appProof`. Never changes its meaning.
  public let name: String

  /// - Parameter name: a constant of the flow, 1...``StoreLimits/maxNameBytes`` ASCII letters and digits.
  public init(_ name: String) {
    precondition(Self.isName(name), "the name of a record kind has 1...40 ASCII letters and digits")
    self.name = name
  }

  /// A name that was stored. Rows of an invalid one are unreadable, since no key of theirs fits.
  init(stored name: String) {
    self.name = name
  }

  public var description: String { name }

  var keyStart: [UInt8] { Array(name.utf8) + [UInt8(ascii: ".")] }

  static func isName(_ text: String) -> Bool {
    (1...StoreLimits.maxNameBytes).contains(text.utf8.count) && text.utf8.allSatisfy(isLetterOrDigit)
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
      || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}

/// Identity of a record.
public struct RecordID: Sendable, Hashable, CustomStringConvertible {
  /// Kind of the record.
  public let kind: RecordKind
  /// ID within the kind, compared by its bytes.
  public let text: String

  /// - Parameters:
  ///   - kind: kind of the record.
  ///   - text: ID within the kind.
  /// - Returns: `nil` for a text that is not a record's ID: empty, longer than ``StoreLimits/maxIDBytes``, or with
  ///   anything but visible ASCII characters, which every store holds and compares alike.
  public init?(_ kind: RecordKind, _ text: String) {
    guard (1...StoreLimits.maxIDBytes).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    self.kind = kind
    self.text = text
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(text) }

  /// The kind: IDs may entitle their holders to something, so no log names one.
  public var description: String { kind.name }
}

/// Name of a key that records of one kind have.
public struct KeySpace: Sendable, Hashable, CustomStringConvertible {
  /// Kind of the records.
  public let kind: RecordKind
  /// Name within the kind, `live`. Never changes its meaning.
  public let name: String

  /// - Parameters:
  ///   - kind: kind of the records.
  ///   - name: a constant of the flow, 1...``StoreLimits/maxNameBytes`` ASCII letters and digits.
  public init(_ kind: RecordKind, _ name: String) {
    precondition(RecordKind.isName(name), "the name of a key has 1...40 ASCII letters and digits")
    self.kind = kind
    self.name = name
  }

  init(_ kind: RecordKind, stored name: String) {
    self.kind = kind
    self.name = name
  }

  public var description: String { "\(kind.name).\(name)" }

  /// Bytes with which all of its keys begin: the name, which holds no zero byte, and one.
  var start: [UInt8] { Array(kind.name.utf8) + [UInt8(ascii: ".")] + Array(name.utf8) + [0] }

  func bytes(_ hash: [UInt8]) throws(StoreError) -> [UInt8] {
    try StoreError.check(hash.count, 1...StoreLimits.maxHashBytes, "a key \(self)")
    var bytes: [UInt8] = []
    bytes.reserveCapacity(kind.name.utf8.count + name.utf8.count + 2 + hash.count)
    bytes.append(contentsOf: kind.name.utf8)
    bytes.append(UInt8(ascii: "."))
    bytes.append(contentsOf: name.utf8)
    bytes.append(0)
    bytes.append(contentsOf: hash)
    return bytes
  }
}

/// A key that at most one record holds at a time: the live verification of a number, a used token.
public struct UniqueKey: Sendable, Hashable, CustomStringConvertible {
  /// Name of the key.
  public let space: KeySpace
  let bytes: [UInt8]

  /// - Parameters:
  ///   - space: name of the key.
  ///   - hash: hash of the value, or a value that identifies no person, 1...``StoreLimits/maxHashBytes`` bytes.
  /// - Throws: ``StoreError/Code/tooLarge``.
  public init(_ space: KeySpace, _ hash: [UInt8]) throws(StoreError) {
    self.space = space
    bytes = try space.bytes(hash)
  }

  public static func == (left: UniqueKey, right: UniqueKey) -> Bool { left.bytes == right.bytes }

  public func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

  public var description: String { space.description }
}

/// A key that any number of records share: all receipts of a device.
public struct GroupKey: Sendable, Hashable, CustomStringConvertible {
  /// Name of the key.
  public let space: KeySpace
  let bytes: [UInt8]

  /// - Parameters:
  ///   - space: name of the key.
  ///   - hash: hash of the value, or a value that identifies no person, 1...``StoreLimits/maxHashBytes`` bytes.
  /// - Throws: ``StoreError/Code/tooLarge``.
  public init(_ space: KeySpace, _ hash: [UInt8]) throws(StoreError) {
    self.space = space
    bytes = try space.bytes(hash)
  }

  public static func == (left: GroupKey, right: GroupKey) -> Bool { left.bytes == right.bytes }

  public func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

  public var description: String { space.description }
}

/// Identity of a message in the inbox: its sender and its ID. Any bytes, since others choose them.
public struct InboxKey: Sendable, Hashable {
  let bytes: [UInt8]

  /// - Parameter text: sender and ID of the message, up to ``StoreLimits/maxInboxKeyBytes`` bytes.
  /// - Throws: ``StoreError/Code/tooLarge``.
  public init(_ text: String) throws(StoreError) {
    try StoreError.check(text.utf8.count, 1...StoreLimits.maxInboxKeyBytes, "an inbox key")
    bytes = Array(text.utf8)
  }

  public static func == (left: InboxKey, right: InboxKey) -> Bool { left.bytes == right.bytes }

  public func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
}

/// Name of a counter: a limit and its subject.
public struct CounterKey: Sendable, Hashable {
  /// The name.
  public let bytes: [UInt8]

  /// - Parameter bytes: name, with a hash in place of what identifies a person, 1...``StoreLimits/maxHashBytes`` bytes.
  /// - Throws: ``StoreError/Code/tooLarge``.
  public init(_ bytes: [UInt8]) throws(StoreError) {
    try StoreError.check(bytes.count, 1...StoreLimits.maxHashBytes, "a counter key")
    self.bytes = bytes
  }

  public static func == (left: CounterKey, right: CounterKey) -> Bool { left.bytes == right.bytes }

  public func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
}

extension UniqueKey {
  init(_ space: KeySpace, stored bytes: [UInt8]) {
    self.space = space
    self.bytes = bytes
  }
}

extension GroupKey {
  init(_ space: KeySpace, stored bytes: [UInt8]) {
    self.space = space
    self.bytes = bytes
  }
}

extension InboxKey {
  init(stored bytes: [UInt8]) {
    self.bytes = bytes
  }
}

extension CounterKey {
  init(stored bytes: [UInt8]) {
    self.bytes = bytes
  }
}

enum KeyRange {
  /// The first bytes behind all that begin with some.
  static func end(of prefix: [UInt8]) -> [UInt8] {
    var end = prefix
    while let last = end.popLast() {
      if last < .max { return end + [last + 1] }
    }
    // Nothing is behind names of nothing but the last byte; no name is as long as this.
    return Array(repeating: .max, count: StoreLimits.maxHashBytes + 1)
  }
}
