import Synchronization

/// What the providers have received: the newest messages, by time and by recipient, and counts of all.
final class MessageStore: Sendable {
  /// What became of a webhook that was handed over.
  enum Outcome: Sendable, Equatable {
    case recorded
    /// One with this ID and this message was recorded before.
    case repeated
    /// One with this ID and another message was recorded before.
    case conflicting
  }

  /// Counts since the last `clear()`.
  struct Counts: Sendable, Equatable {
    var received: [Provider: Int] = [:]
    /// Messages whose recipient and text were those of one held already.
    var duplicates = 0
    var repeatedWebhooks = 0
    /// Refusals, by the code that they were answered with.
    var refused: [String: Int] = [:]
  }

  private struct State {
    /// A ring: the message with number n is at n modulo the capacity.
    var ring: [ReceivedMessage] = []
    /// The number of the next message.
    var next = 0
    /// The numbers of the messages held, by recipient, oldest first.
    var byRecipient: [String: [Int]] = [:]
    /// The numbers of the webhooks held, by ID.
    var byWebhook: [String: Int] = [:]
    var counts = Counts()
  }

  private let capacity: Int
  private let state = Mutex(State())

  init(capacity: Int) {
    precondition(capacity > 0)
    self.capacity = capacity
  }

  /// Records a message; the oldest one goes when the ring is full. A webhook is recorded once for its ID.
  @discardableResult
  func record(_ message: ReceivedMessage) -> Outcome {
    state.withLock { state in
      if message.provider == .webhook, let number = state.byWebhook[message.id] {
        return repeated(message, number, &state)
      }
      append(message, &state)
      return .recorded
    }
  }

  func refuse(_ code: String) {
    state.withLock { $0.counts.refused[code, default: 0] += 1 }
  }

  /// The newest messages, oldest first; of one recipient, if given.
  func messages(to recipient: String?, limit: Int) -> [ReceivedMessage] {
    state.withLock { state in
      if let recipient {
        return (state.byRecipient[recipient] ?? []).suffix(limit).map { state.ring[$0 % capacity] }
      }
      return (max(0, state.next - min(limit, state.ring.count))..<state.next).map { state.ring[$0 % capacity] }
    }
  }

  func summary() -> (counts: Counts, held: Int, distinctRecipients: Int) {
    state.withLock { ($0.counts, $0.ring.count, $0.byRecipient.count) }
  }

  func clear() {
    state.withLock { $0 = State() }
  }

  private func repeated(_ message: ReceivedMessage, _ number: Int, _ state: inout State) -> Outcome {
    let first = state.ring[number % capacity]
    guard first.to == message.to, first.body == message.body else { return .conflicting }
    state.ring[number % capacity].deliveries += 1
    state.counts.repeatedWebhooks += 1
    return .repeated
  }

  private func append(_ message: ReceivedMessage, _ state: inout State) {
    let held = state.byRecipient[message.to] ?? []
    if held.contains(where: { state.ring[$0 % capacity].body == message.body }) { state.counts.duplicates += 1 }
    state.counts.received[message.provider, default: 0] += 1
    if state.ring.count < capacity {
      state.ring.append(message)
    } else {
      forget(state.next - capacity, &state)
      state.ring[state.next % capacity] = message
    }
    state.byRecipient[message.to, default: []].append(state.next)
    if message.provider == .webhook { state.byWebhook[message.id] = state.next }
    state.next += 1
  }

  private func forget(_ number: Int, _ state: inout State) {
    let old = state.ring[number % capacity]
    // Numbers of a recipient are in order, so the oldest of all is the first of its own.
    state.byRecipient[old.to]?.removeFirst()
    if state.byRecipient[old.to]?.isEmpty == true { state.byRecipient[old.to] = nil }
    if old.provider == .webhook { state.byWebhook[old.id] = nil }
  }
}
