import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

/// Listens for `keys.published`, and has the keys fetched when it arrives.
///
/// The event says only that there is something new: events may arrive late, and `keys.get` always tells what stands in
/// the store. One that is missed costs up to ``KeyCache/interval``.
struct KeyEvents: Service {
  /// Events that wait at most. One is enough.
  static let maxWaiting = 4
  static let queue = Consumer.OwnQueue(
    exchange: Topology.Exchanges.events, routingKey: KeysPublished.routingKey, maxLength: maxWaiting)

  let name = "keyEvents"
  let source: any MessageSource
  let cache: KeyCache
  let log: Logger

  func run() async {
    await withTaskGroup(of: Void.self) { connection in
      connection.addTask { await source.run() }
      while let deliveries = await source.next() {
        for delivery in deliveries { source.ack(delivery.tag) }
        // Only accounts has the broker's right to publish it; an operator may do so by hand.
        guard deliveries.contains(where: { $0.message.type == KeysPublished.type.text }) else { continue }
        log.debug("public keys of ID tokens have changed")
        await cache.refreshAfterChange()
      }
      await source.close()
    }
  }

  func stop() async { await source.stopConsuming() }
}
