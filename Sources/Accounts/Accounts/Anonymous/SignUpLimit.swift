import CommandEngine
import CountersignTelemetry

/// Limit of the anonymous accounts that an address makes within an hour. Commands without an address share one.
///
/// The window slides by minutes: a minute counts until an hour after its end.
struct SignUpLimit: Sendable {
  private static let slot = Duration.seconds(60)
  private static let window = Duration.seconds(3600)

  let perHour: Int
  /// Keyed hash of project and address.
  let name: [UInt8]

  private var key: CounterKey {
    get throws(StoreError) { try CounterKey(name) }
  }

  private static func slot(at time: UnixTime) -> Int64 {
    time.milliseconds - time.milliseconds % slot.wholeMilliseconds
  }

  private static func end(ofSlot slot: Int64) -> UnixTime { UnixTime(milliseconds: slot) + Self.slot + window }

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    keys.add(counter: try key, since: Self.slot(at: now - Self.window - Self.slot))
  }

  /// Time until another account may be made; `nil` when it may be made now.
  func wait(in set: WorkingSet) throws(StoreError) -> Duration? {
    let cells = try set.cells(of: key).filter { $0.count > 0 && Self.end(ofSlot: $0.slot) > set.now }
    var excess = cells.reduce(1 - Int64(perHour)) { $0 + $1.count }
    guard excess > 0 else { return nil }
    for cell in cells {
      excess -= cell.count
      if excess <= 0 { return Self.end(ofSlot: cell.slot) - set.now }
    }
    return Self.window
  }

  func count(in set: inout WorkingSet) throws(StoreError) {
    let slot = Self.slot(at: set.now)
    set.count(try key, in: slot, keepUntil: Self.end(ofSlot: slot))
  }
}
