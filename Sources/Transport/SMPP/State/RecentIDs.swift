/// The last message IDs from the server, with the callers' references.
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
