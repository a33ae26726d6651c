import Synchronization

/// Values that all runs of a command share, since each differs each time that it is made, or costs much.
final class Once<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let made = Mutex<[Key: Value]>([:])

  func value<Failure: Error>(of key: Key, _ make: () throws(Failure) -> Value) throws(Failure) -> Value {
    if let known = made.withLock({ $0[key] }) { return known }
    let value = try make()
    made.withLock { $0[key] = value }
    return value
  }
}
