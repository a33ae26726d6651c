import CountersignEncoding
import CountersignTelemetry
import Synchronization

/// Messages received by the providers: the newest, by time and by recipient, and counts of all.
final class MessageStore: Sendable {
  /// Outcome of recording a webhook.
  enum Outcome: Sendable, Equatable {
    case recorded
    /// A webhook with this ID and this message was recorded before.
    case repeated
    /// A webhook with this ID and another message was recorded before.
    case conflicting
  }

  /// Counts since the last `clear()`.
  struct Counts: Sendable, Equatable {
    var received: [Provider: Int] = [:]
    /// Messages with the recipient and text of one of the last 64 to that number.
    var duplicates = 0
    var repeatedWebhooks = 0
    /// Refusals, by the code of their answer.
    var refused: [String: Int] = [:]
  }

  /// Number of earlier messages to a number that a new one is compared with to find duplicates.
  private static let maxCompared = 64

  private struct Entry {
    var message: ReceivedMessage
    /// Number of the previous message to the same recipient, or -1; it may be forgotten already.
    let previous: Int
  }

  private struct State {
    /// Ring of messages: number n is at n modulo the capacity.
    var ring: [Entry] = []
    var next = 0
    /// Number of the newest message held, by recipient.
    var newest: [String: Int] = [:]
    /// Numbers of the webhooks held, by ID.
    var webhooks: [String: Int] = [:]
    var counts = Counts()

    var oldest: Int { next - ring.count }
  }

  private let capacity: Int
  private let state = Mutex(State())

  init(capacity: Int) {
    precondition(capacity > 0)
    self.capacity = capacity
  }

  /// Records a message; a full ring forgets the oldest one. A webhook is recorded once per ID.
  func record(_ message: ReceivedMessage) -> Outcome {
    state.withLock { state in
      if message.provider == .webhook, let number = state.webhooks[message.id] {
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
      if let recipient { return Array(newest(limit, to: recipient, state).reversed()) }
      return (max(state.oldest, state.next - min(limit, capacity))..<state.next).map {
        state.ring[$0 % capacity].message
      }
    }
  }

  func summary() -> (counts: Counts, held: Int, distinctRecipients: Int) {
    state.withLock { ($0.counts, $0.ring.count, $0.newest.count) }
  }

  func clear() {
    state.withLock { $0 = State() }
  }

  /// Newest first.
  private func newest(_ limit: Int, to recipient: String, _ state: borrowing State) -> [ReceivedMessage] {
    var found: [ReceivedMessage] = []
    var number = state.newest[recipient] ?? -1
    while number >= state.oldest, found.count < limit {
      let entry = state.ring[number % capacity]
      found.append(entry.message)
      number = entry.previous
    }
    return found
  }

  private func repeated(_ message: ReceivedMessage, _ number: Int, _ state: inout State) -> Outcome {
    let first = state.ring[number % capacity].message
    guard first.to == message.to, first.body == message.body else { return .conflicting }
    state.ring[number % capacity].message.deliveries += 1
    state.counts.repeatedWebhooks += 1
    return .repeated
  }

  private func append(_ message: ReceivedMessage, _ state: inout State) {
    if newest(Self.maxCompared, to: message.to, state).contains(where: { $0.body == message.body }) {
      state.counts.duplicates += 1
    }
    state.counts.received[message.provider, default: 0] += 1
    let entry = Entry(message: message, previous: state.newest[message.to] ?? -1)
    if state.ring.count < capacity {
      state.ring.append(entry)
    } else {
      forget(state.oldest, &state)
      state.ring[state.next % capacity] = entry
    }
    state.newest[message.to] = state.next
    if message.provider == .webhook { state.webhooks[message.id] = state.next }
    state.next += 1
  }

  private func forget(_ number: Int, _ state: inout State) {
    let old = state.ring[number % capacity].message
    if state.newest[old.to] == number { state.newest[old.to] = nil }
    if old.provider == .webhook { state.webhooks[old.id] = nil }
  }
}

/// Message that a provider has accepted.
struct ReceivedMessage: Sendable, Equatable {
  let to: String
  let from: String?
  let body: String
  let receivedAt: UnixTime
  let provider: Provider
  /// ID that the provider gave it: a message SID, a webhook ID.
  let id: String
  /// Number of webhooks with this ID.
  var deliveries = 1

  var json: String {
    """
    {"to":\(JSONString.quote(to)),"from":\(JSONString.quote(from)),"body":\(JSONString.quote(body)),\
    "receivedAt":"\(receivedAt.rfc3339)","provider":"\(provider.rawValue)","id":\(JSONString.quote(id)),\
    "deliveries":\(deliveries)}
    """
  }
}
