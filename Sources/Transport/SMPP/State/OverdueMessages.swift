/// Submissions whose callers gave up before the response, by sequence number; the oldest are dropped.
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
