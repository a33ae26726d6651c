import Synchronization

/// Effects of processes on store and broker, counted. The process that has a chosen one ends with it.
public final class CountedEffects: Sendable {
  private let state = Mutex((count: 0, last: Int?.none))

  public init() {}

  /// Counts anew, up to the effect that ends a process. `nil` for none.
  public func begin(last: Int?) { state.withLock { $0 = (0, last) } }

  /// Effects since ``begin(last:)``.
  public var count: Int { state.withLock { $0.count } }

  fileprivate func add() -> Bool {
    state.withLock { state in
      state.count += 1
      return state.count == state.last
    }
  }
}

/// Life of a process, which may end behind any of its effects. What it does afterwards reaches nothing.
public final class EngineLife: Sendable {
  private let state = Mutex(false)
  private let effects: CountedEffects

  public init(_ effects: CountedEffects) { self.effects = effects }

  public var isOver: Bool { state.withLock { $0 } }

  /// Has an effect.
  /// - Returns: whether it takes place.
  @discardableResult
  public func change() -> Bool {
    state.withLock { isOver in
      if isOver { return false }
      isOver = effects.add()
      return true
    }
  }
}
