import Synchronization

/// Value in force, which may change while the process runs. Equal to itself alone.
public final class LiveValue<Value: Sendable & Hashable>: Sendable, Hashable {
  private let box: Mutex<Value>

  /// - Parameter value: the value in force at first.
  public init(_ value: Value) {
    box = Mutex(value)
  }

  /// The value in force now.
  public var current: Value { box.withLock { $0 } }

  /// Puts a value in force.
  /// - Returns: whether it differs.
  @discardableResult
  public func take(_ value: Value) -> Bool {
    box.withLock { current in
      defer { current = value }
      return current != value
    }
  }

  public static func == (one: LiveValue, other: LiveValue) -> Bool { one === other }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
