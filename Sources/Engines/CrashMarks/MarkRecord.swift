/// A mark as it is stored: whoever wrote it was working on the message.
public struct MarkRecord: Sendable, Hashable {
  /// Fate of the owner of a mark.
  public enum Owner: Sendable, Hashable {
    /// It runs: its mark says nothing yet.
    case living
    /// We are: the broker delivers again what it gave us over a connection that was lost.
    case ourselves
    /// It ended without giving its marks back: a crash.
    case dead
    /// He gave the mark back in order, and left what was known of the message.
    case nobody
  }

  /// Its writer; 0 when it has none any longer.
  public var number: Int64
  /// Its fate.
  public var owner: Owner
  /// Whether nothing else was being worked on in his process.
  public var isAlone: Bool
  /// Whether the message had been in a group whose process died.
  public var isSuspect: Bool
  /// Number of processes that had died before while they worked on this message alone.
  public var deaths: Int
  /// Number of earlier deliveries of the message that were marked and not settled.
  public var begun: Int

  /// - Parameters:
  ///   - number: Who wrote it; 0 for nobody any more.
  ///   - owner: What became of him.
  public init(
    number: Int64, owner: Owner, isAlone: Bool = false, isSuspect: Bool = false, deaths: Int = 0, begun: Int = 0
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
  /// The owners whose marks are taken over by the next one.
  public private(set) var replaced: [Int64] = []
  /// Whether a mark of a process was found that died.
  public private(set) var isFound = false

  /// A message without marks, if there are none.
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
