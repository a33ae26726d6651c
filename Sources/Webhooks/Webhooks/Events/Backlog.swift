import CommandEngine
import CountersignTelemetry

/// Numbers of the events of a webhook: those that wait, and those that were delivered and are kept for a replay.
enum Backlog: String, Sendable {
  case waiting, delivered

  /// Events of a webhook in each of the two at most. The oldest make room.
  static let maxEvents = 2_000_000
  /// Longer than anything that is counted.
  private static let keep = QueuedEvent.lifetime + .seconds(86_400)

  func count(_ webhook: Webhook, in set: WorkingSet) throws(StoreError) -> Int {
    max(0, Int(clamping: set.cells(of: try key(webhook), since: 0).reduce(0) { $0 + $1.count }))
  }

  /// Counts further events, or with a negative number those that are gone.
  func add(_ count: Int, _ webhook: Webhook, in set: inout WorkingSet) throws(StoreError) {
    set.count(try key(webhook), in: 0, by: Int64(count), keepUntil: set.now + Self.keep)
  }

  private func key(_ webhook: Webhook) throws(StoreError) -> CounterKey {
    try CounterKey(Array("webhook.\(rawValue).\(webhook.id.text)".utf8))
  }
}
