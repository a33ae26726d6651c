import CountersignTelemetry
import HTTPServer

/// Common parts of the providers of messages: the gate, and the store of received messages.
struct ProviderInbox: Sendable {
  private let store: MessageStore
  private let gate: ProviderGate

  var clock: any WallClock { gate.clock }

  init(store: MessageStore, gate: ProviderGate) {
    self.store = store
    self.gate = gate
  }

  func record(_ message: ReceivedMessage) -> MessageStore.Outcome { store.record(message) }

  func refuse(_ code: String) { store.refuse(code) }

  /// Answers a request, unless a fault is due: `ProviderGate.answer`.
  func answer(
    _ provider: Provider, to recipient: String, failure: (Int) -> HTTPServerResponse,
    process: () -> HTTPServerResponse
  ) async -> HTTPServerReply {
    await gate.answer(provider, to: recipient, failure: failure, process: process)
  }

  /// Fault that is due for a message, over a protocol that is not HTTP.
  func fault(_ provider: Provider, to recipient: String) -> Fault? { gate.fault(provider, to: recipient) }

  /// Counts an answer of a protocol that is not HTTP.
  func count(_ status: String, _ provider: Provider) { gate.count(status, provider) }

  func count(_ response: HTTPServerResponse, _ provider: Provider) -> HTTPServerReply {
    gate.count(response, provider)
  }
}
