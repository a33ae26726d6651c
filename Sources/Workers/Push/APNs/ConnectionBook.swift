import CountersignTelemetry

/// Which connection the next push takes, and when one is given up. It knows no sockets.
///
/// APNs allows a connection one push at a time until a valid token has come over it, and again after it has refused a push, until the next
/// one that it takes. Proofs meet many tokens that are refused. So a connection counts as *narrow* until it has taken a push, and after
/// each refusal; pushes go where there is room, first to connections that are not narrow, then to narrow ones, then to a new one; only
/// when there may be no further one do they wait in line.
///
/// A connection that lets a push run into its time-out, and has answered nothing else since that push was sent, is taken for dead. APNs
/// and the networks before it leave such connections behind, and everything that is sent over one is lost.
struct ConnectionBook: Sendable {
  struct Connection: Sendable, Hashable {
    let id: Int
    /// Pushes under way.
    var open = 0
    /// Whether one push at a time is all that can be counted on.
    var isNarrow = true
    var lastAnswer: MonotonicTime?
  }

  /// What a push says about its connection.
  enum Report: Sendable, Hashable {
    /// APNs took it.
    case taken
    /// APNs refused it.
    case refused
    /// APNs answered otherwise: nothing about streams can be told from that.
    case answered
    /// The connection ended. The transport opens another in its place, which is narrow again.
    case lost
    /// No answer came to what was sent at that time.
    case silent(since: MonotonicTime)
    /// It is of no more use: it has shown a token that expired, or APNs is about to close it.
    case useless
  }

  /// How much longer a push waits on a narrow connection than on another, so to speak.
  static let narrowWeight = 32

  /// Connections at once.
  let limit: Int
  /// Pushes at once on a connection that is not narrow.
  let width: Int
  private(set) var connections: [Connection] = []
  private var lastID = 0

  init(limit: Int, width: Int) {
    precondition(limit >= 1 && width >= 1, "a book has room for at least one connection and one push")
    self.limit = limit
    self.width = width
  }

  /// Chooses the connection of the next push, and counts it in.
  /// - Returns: its ID, and whether it has yet to be opened.
  mutating func take() -> (id: Int, isNew: Bool) {
    if let index = indexWithRoom {
      connections[index].open += 1
      return (connections[index].id, false)
    }
    if connections.count < limit {
      lastID += 1
      connections.append(Connection(id: lastID, open: 1))
      return (lastID, true)
    }
    let index = connections.indices.min { load(connections[$0]) < load(connections[$1]) } ?? 0
    connections[index].open += 1
    return (connections[index].id, false)
  }

  /// Counts a push out.
  /// - Returns: whether the connection was given up by this; pushes that are still under way on it report to nobody.
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

  /// Gives up all connections.
  mutating func giveUpAll() {
    connections.removeAll()
  }

  /// The first that has room, not the one with most: many pushes on one connection share its writes and reads.
  private var indexWithRoom: Int? {
    connections.firstIndex { !$0.isNarrow && $0.open < width } ?? connections.firstIndex { $0.isNarrow && $0.open == 0 }
  }

  private func load(_ connection: Connection) -> Int {
    (connection.open + 1) * (connection.isNarrow ? Self.narrowWeight : 1)
  }
}
