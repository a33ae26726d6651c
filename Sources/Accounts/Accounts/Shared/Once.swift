import Synchronization

/// A value that all runs of a command share, since it differs each time that it is made, or costs much.
final class Once<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let made = Mutex<(key: Key, value: Value)?>(nil)

  func value<Failure: Error>(of key: Key, _ make: () throws(Failure) -> Value) throws(Failure) -> Value {
    let known = made.withLock { $0 }
    if let known, known.key == key { return known.value }
    let value = try make()
    made.withLock { $0 = (key, value) }
    return value
  }
}
