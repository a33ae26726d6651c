/// Submissions whose callers gave up before the response, by sequence number. The oldest are dropped.
struct OverdueMessages {
  static let capacity = 1_024

  private var origins: [UInt32: MessageOrigin] = [:]
  /// Oldest first, including removed ones.
  private var order: [UInt32] = []

  mutating func insert(_ sequence: UInt32, _ origin: MessageOrigin?) {
    guard let origin else { return }
    if order.count == Self.capacity {
      for old in order.prefix(Self.capacity / 4) { origins[old] = nil }
      order.removeFirst(Self.capacity / 4)
    }
    origins[sequence] = origin
    order.append(sequence)
  }

  mutating func remove(_ sequence: UInt32) -> MessageOrigin? { origins.removeValue(forKey: sequence) }

  mutating func removeAll() {
    origins.removeAll()
    order.removeAll()
  }
}

struct RecentIDs {
  static let capacity = 32_768

  private var ring: [String] = []
  private var next = 0
  private var origins: [String: MessageOrigin?] = [:]

  mutating func insert(_ id: String, _ origin: MessageOrigin?) {
    guard origins.updateValue(origin, forKey: id) == nil else { return }
    if ring.count < Self.capacity {
      ring.append(id)
    } else {
      origins.removeValue(forKey: ring[next])
      ring[next] = id
    }
    next = (next + 1) % Self.capacity
  }

  func contains(_ id: String) -> Bool { origins[id] != nil }

  func origin(of id: String) -> MessageOrigin? { origins[id] ?? nil }
}
