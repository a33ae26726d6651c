/// The last message IDs that the server gave.
struct RecentIDs {
  static let capacity = 4096

  private var ring: [String] = []
  private var next = 0
  private var known: Set<String> = []

  mutating func insert(_ id: String) {
    guard known.insert(id).inserted else { return }
    if ring.count < Self.capacity {
      ring.append(id)
    } else {
      known.remove(ring[next])
      ring[next] = id
    }
    next = (next + 1) % Self.capacity
  }

  func contains(_ id: String) -> Bool { known.contains(id) }
}
