public import RecordStore

/// A stored mark: its writer was working on the message.
public struct MarkRecord: Sendable, Hashable {
  /// Its writer. 0 once the mark was given back.
  public var number: Int64
  /// State of its writer: the mark of a living one says nothing yet, and one that was given back regularly has its
  /// knowledge of the message.
  public var owner: OwnerState
  /// Whether its process worked on nothing else.
  public var isAlone: Bool
  /// Whether the message had been in a group whose process died.
  public var isSuspect: Bool
  /// Number of processes that had died before while they worked on this message alone.
  public var deaths: Int
  /// Number of earlier deliveries of the message that were marked and not settled.
  public var begun: Int

  public init(
    number: Int64, owner: OwnerState, isAlone: Bool = false, isSuspect: Bool = false, deaths: Int = 0, begun: Int = 0
  ) {
    self.number = number
    self.owner = owner
    self.isAlone = isAlone
    self.isSuspect = isSuspect
    self.deaths = deaths
    self.begun = begun
  }
}

/// Sum of all marks of one message.
public struct MarkStanding: Sendable, Hashable {
  /// Whether a process died while the message was among those that it worked on.
  public private(set) var isSuspect = false
  /// Number of processes that died while they worked on this message alone.
  public private(set) var deaths = 0
  /// Number of deliveries of the message that were marked and not settled.
  public private(set) var begun = 0
  /// The owners whose marks the next one replaces.
  public private(set) var replaced: [Int64] = []
  /// Whether a mark of a dead process was found.
  public private(set) var isFound = false

  /// Sums the marks of a message. None by default.
  public init(_ records: [MarkRecord] = []) {
    for record in records { add(record) }
  }

  private mutating func add(_ record: MarkRecord) {
    begun += record.begun
    switch record.owner {
    case .living:
      begun += 1
    case .ourselves:
      begun += 1
      keep(record)
    case .dead:
      begun += 1
      keep(record)
      isFound = true
      isSuspect = true
      deaths += record.isAlone ? 1 : 0
    case .nobody:
      keep(record)
    }
  }

  private mutating func keep(_ record: MarkRecord) {
    isSuspect = isSuspect || record.isSuspect
    deaths += record.deaths
    replaced.append(record.number)
  }
}
