import CountersignEncoding
import CountersignTelemetry
import Synchronization

/// The newest, and counts of all.
final class MessageStore: Sendable {
  enum Outcome: Sendable, Equatable {
    case recorded
    /// A webhook with this ID and this message was recorded before.
    case repeated
    /// A webhook with this ID and another message was recorded before.
    case conflicting
  }

  /// Since the last `clear()`.
  struct Counts: Sendable, Equatable {
    var received: [Provider: Int] = [:]
    /// Messages with the recipient and text of one of the last 64 to that number.
    var duplicates = 0
    var repeatedWebhooks = 0
    /// By the code of their answer.
    var refused: [String: Int] = [:]
  }

  /// Number of earlier messages to a number that a new one is compared with to find duplicates.
  private static let maxCompared = 64

  private struct State {
    var ring: Ring<ReceivedMessage>
    /// Numbers of the webhooks held, by ID.
    var webhooks: [String: Int] = [:]
    var counts = Counts()

    init(capacity: Int) { ring = Ring(capacity: capacity) }
  }

  private let capacity: Int
  private let state: Mutex<State>

  init(capacity: Int) {
    self.capacity = capacity
    state = Mutex(State(capacity: capacity))
  }

  /// A full ring forgets the oldest one. A webhook is recorded once per ID.
  @discardableResult func record(_ message: ReceivedMessage) -> Outcome {
    state.withLock { state in
      if message.provider == .webhook, let number = state.webhooks[message.id] {
        return Self.repeated(message, number, &state)
      }
      Self.append(message, &state)
      return .recorded
    }
  }

  func refuse(_ code: String) {
    state.withLock { $0.counts.refused[code, default: 0] += 1 }
  }

  /// Oldest first.
  func messages(to recipient: String?, limit: Int) -> [ReceivedMessage] {
    state.withLock { $0.ring.elements(of: recipient, limit: limit) }
  }

  func summary() -> (counts: Counts, held: Int, distinctRecipients: Int) {
    state.withLock { ($0.counts, $0.ring.count, $0.ring.keyCount) }
  }

  func clear() {
    state.withLock { $0 = State(capacity: capacity) }
  }

  private static func repeated(_ message: ReceivedMessage, _ number: Int, _ state: inout State) -> Outcome {
    let first = state.ring[number]
    guard first.to == message.to, first.body == message.body else { return .conflicting }
    state.ring[number].deliveries += 1
    state.counts.repeatedWebhooks += 1
    return .repeated
  }

  private static func append(_ message: ReceivedMessage, _ state: inout State) {
    if state.ring.elements(of: message.to, limit: maxCompared).contains(where: { $0.body == message.body }) {
      state.counts.duplicates += 1
    }
    state.counts.received[message.provider, default: 0] += 1
    if message.provider == .webhook { state.webhooks[message.id] = state.ring.next }
    if let old = state.ring.append(message, key: message.to), old.provider == .webhook { state.webhooks[old.id] = nil }
  }
}

struct ReceivedMessage: Sendable, Equatable {
  let to: String
  let from: String?
  let body: String
  let receivedAt: UnixTime
  let provider: Provider
  /// A message SID, a webhook ID.
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
