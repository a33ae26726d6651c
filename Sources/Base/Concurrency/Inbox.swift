public import Synchronization

/// Elements that callers on any thread leave for one consumer: many of them cost it one wake-up.
///
/// An absent consumer takes nothing while callers give up and come again. Stale elements are therefore dropped: at most
/// 1,024 are kept, or as many as there are fresh ones.
public final class Inbox<Element: Sendable>: Sendable {
  /// Result of an addition.
  public enum Admission: Sendable {
    /// The consumer sleeps and has to be woken by the caller.
    case wake
    /// The consumer has been woken and will take the element too.
    case awake
    /// The inbox is closed. The element was not added.
    case closed
  }

  @usableFromInline struct State: Sendable {
    @usableFromInline var elements: [Element] = []
    @usableFromInline var dropsAt = Inbox.minBeforeDrop
    @usableFromInline var isWakePending = false
    @usableFromInline var isClosed = false

    @inlinable init() {}
  }

  @usableFromInline static var minBeforeDrop: Int { 1_024 }

  @usableFromInline let state = Mutex(State())
  @usableFromInline let wakeCount: Int
  @usableFromInline let isStale: (@Sendable (Element) -> Bool)?

  public init(wakeCount: Int = .max, isStale: (@Sendable (Element) -> Bool)? = nil) {
    self.wakeCount = wakeCount
    self.isStale = isStale
  }

  /// Leaves an element for the consumer.
  @inlinable public func add(_ element: Element) -> Admission {
    state.withLock { state in
      guard !state.isClosed else { return .closed }
      if let isStale, state.elements.count >= state.dropsAt {
        state.elements.removeAll(where: isStale)
        state.dropsAt = max(Self.minBeforeDrop, 2 * state.elements.count)
      }
      state.elements.append(element)
      defer { state.isWakePending = true }
      return !state.isWakePending || state.elements.count == wakeCount ? .wake : .awake
    }
  }

  /// Leaves several elements at once, without dropping stale ones.
  @inlinable public func add(contentsOf elements: some Sequence<Element>) -> Admission {
    state.withLock { state in
      guard !state.isClosed else { return .closed }
      state.elements.append(contentsOf: elements)
      defer { state.isWakePending = true }
      return state.isWakePending ? .awake : .wake
    }
  }

  /// Takes all elements, oldest first. The next addition wakes the consumer again.
  @inlinable public func takeAll() -> [Element] {
    state.withLock { state in
      state.isWakePending = false
      state.dropsAt = Self.minBeforeDrop
      defer { state.elements = [] }
      return state.elements
    }
  }

  @inlinable public var count: Int { state.withLock { $0.elements.count } }
  @inlinable public var isEmpty: Bool { count == 0 }
  @inlinable public var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Refuses further elements. Those that wait can still be taken.
  public func close() { state.withLock { $0.isClosed = true } }
}
