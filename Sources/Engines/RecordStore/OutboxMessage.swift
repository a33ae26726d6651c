public import CountersignTelemetry

/// A message that goes out once the changes it belongs to are stored.
public struct OutboxMessage: Sendable, Hashable {
  /// Type of the message, for operators: `sms.dispatch.v1`.
  public let type: String
  /// The message with its address and properties, in the engine's own format, up to ``StoreLimits/maxMessageBytes``.
  public let content: [UInt8]
  /// Time after which it is useless. `nil` for never. The store keeps it, the engine decides.
  public let discardAt: UnixTime?
  /// Hold until the reply to a command is out.
  public var hold: Hold?
  /// The message that ``content`` was made of, as long as it does not come from the store: spares reading it again.
  package var original: (any AnyObject & Sendable)?

  /// Condition under which a message goes out.
  public struct Hold: Sendable, Hashable {
    /// The command whose reply goes out first.
    public var command: InboxKey
    /// Time at which the message goes even without: the command was not redelivered.
    public var until: UnixTime

    public init(untilReplyTo command: InboxKey, orAt until: UnixTime) {
      self.command = command
      self.until = until
    }
  }

  public init(type: String, content: [UInt8], discardAt: UnixTime? = nil, hold: Hold? = nil) {
    self.type = type
    self.content = content
    self.discardAt = discardAt
    self.hold = hold
  }

  public static func == (left: OutboxMessage, right: OutboxMessage) -> Bool {
    left.type == right.type && left.content == right.content && left.discardAt == right.discardAt
      && left.hold == right.hold
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(type)
    hasher.combine(content)
    hasher.combine(discardAt)
    hasher.combine(hold)
  }

  func check() throws(StoreError) {
    try StoreError.check(type.utf8.count, 1...StoreLimits.maxIDBytes, "the type of a message")
    try StoreError.check(type, "the type of a message")
    try StoreError.check(content.count, 0...StoreLimits.maxMessageBytes, "a message")
  }
}

/// A message in the outbox that the caller has to publish and then to settle.
public struct StoredMessage: Sendable, Hashable {
  /// Number of its row. Messages of one writer are numbered in the order of their commits.
  public var number: Int64
  /// The message. Its hold is over.
  public var message: OutboxMessage
  /// Whether a process that died may have published it already. One that was refused and postponed is not out.
  public var mayBeOut: Bool
  /// Session of the store under which the caller has it. See ``Store/owned(_:)``. 0 where there is but one.
  public var owner: Int64

  public init(number: Int64, message: OutboxMessage, mayBeOut: Bool, owner: Int64 = 0) {
    self.number = number
    self.message = message
    self.mayBeOut = mayBeOut
    self.owner = owner
  }
}

/// Fate of published messages. Rows of other owners stay untouched.
public struct OutboxSettlement: Sendable, Hashable {
  /// Rows that go: confirmed, or of no further use.
  public var finished: [Int64] = []
  /// Rows that were refused, and are claimed again at a time.
  public var postponed: [Int64: UnixTime] = [:]
  /// Rows that this version of the program cannot read. They are kept for the next process.
  public var setAside: [Int64] = []

  public init() {}

  public init(finished: [Int64]) {
    self.finished = finished
  }

  /// Whether there is nothing to settle.
  public var isEmpty: Bool { finished.isEmpty && postponed.isEmpty && setAside.isEmpty }
}

/// Time of retry of a row that no running version can read: never, while its owner lives.
enum SetAside {
  static let mark = Int64.max
  static let latest = Int64.max - 1
}
