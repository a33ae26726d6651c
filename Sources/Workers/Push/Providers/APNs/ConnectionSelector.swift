import CountersignTelemetry

/// APNs allows one push at a time on a connection until it has taken a push, and again after a refusal: such a
/// connection is *narrow*. Wide connections come first, then narrow ones, then a new one. One that has answered nothing
/// since a timed-out push is dead.
struct ConnectionSelector: Sendable {
  struct Slot: Sendable, Hashable {
    let id: Int
    var open = 0
    /// Whether only one push at a time can be relied on.
    var isNarrow = true
    var lastAnswer: MonotonicTime?
  }

  enum Report: Sendable, Hashable {
    case taken
    case refused
    /// APNs gave another answer, which says nothing about streams.
    case answered
    /// The connection ended. The transport opens another in its place, which is narrow again.
    case lost
    /// The push sent at that time was not answered.
    case silent(since: MonotonicTime)
    /// The connection can no longer be used: it has shown a token that expired, or APNs is about to close it.
    case useless
  }

  static let narrowWeight = 32

  let limit: Int
  /// Maximum number of pushes in flight on a connection that is not narrow.
  let width: Int
  private(set) var connections: [Slot] = []
  private var lastID = 0

  init(limit: Int, width: Int) {
    precondition(limit >= 1 && width >= 1, "there must be room for at least one connection and one push")
    self.limit = limit
    self.width = width
  }

  /// Chooses the connection of the next push, and counts it in.
  mutating func take() -> (id: Int, isNew: Bool) {
    if let index = indexWithRoom {
      connections[index].open += 1
      return (connections[index].id, false)
    }
    if connections.count < limit {
      lastID += 1
      connections.append(Slot(id: lastID, open: 1))
      return (lastID, true)
    }
    let index = connections.indices.min { load(connections[$0]) < load(connections[$1]) } ?? 0
    connections[index].open += 1
    return (connections[index].id, false)
  }

  mutating func give(back id: Int, _ report: Report, now: MonotonicTime) -> Bool {
    guard let index = connections.firstIndex(where: { $0.id == id }) else { return false }
    connections[index].open -= 1
    switch report {
    case .taken, .refused, .answered:
      connections[index].lastAnswer = now
      if report != .answered { connections[index].isNarrow = report == .refused }
      return false
    case .lost:
      connections[index].isNarrow = true
      return false
    case .silent(let since):
      if let lastAnswer = connections[index].lastAnswer, lastAnswer >= since { return false }
    case .useless: break
    }
    connections.remove(at: index)
    return true
  }

  mutating func giveUpAll() {
    connections.removeAll()
  }

  /// The first connection with room, not the one with most: pushes on one connection share its writes and reads.
  private var indexWithRoom: Int? {
    connections.firstIndex { !$0.isNarrow && $0.open < width } ?? connections.firstIndex { $0.isNarrow && $0.open == 0 }
  }

  private func load(_ connection: Slot) -> Int {
    (connection.open + 1) * (connection.isNarrow ? Self.narrowWeight : 1)
  }
}
