import CommandEngine
import CountersignEncoding
import CountersignTelemetry

/// Last time at which any coordinator knew that codes come back, as a record that all of them renew.
///
/// One coordinator that loses the broker, or starts, is not an outage while another one takes commands.
struct ConversionHearing: Sendable {
  /// Age at which the time is renewed: a write every few seconds, by any coordinator.
  static let renewal = Duration.seconds(3)
  /// Age after which the other coordinators assume that no one is taking commands: a renewal that was late by a round.
  static let silence = Duration.seconds(6)

  private static let kind = RecordKind("conversionHeard")
  private static let name = "last"

  private struct Heard: StoredRecord {
    let at: UnixTime

    init(at: UnixTime) { self.at = at }

    init(_ record: Record, _ fields: inout FieldCoder, _ heard: Self?) throws(UnreadableFields) {
      at = try fields.required(1, heard?.at)
    }
  }

  func addKeys(to keys: inout StoreKeys) {
    if let id = RecordID(Self.kind, Self.name) { keys.add(record: id) }
  }

  /// The time, not later than now. `nil` when it is not known, or cannot be read.
  func heardAt(in set: WorkingSet) throws(StoreError) -> UnixTime? {
    guard let id = RecordID(Self.kind, Self.name) else { return nil }
    do throws(StoreError) {
      guard let record = try set.record(id) else { return nil }
      return min(try Heard(record).at, set.now)
    } catch {
      guard error.fault == .content else { throw error }
      return nil
    }
  }

  /// Renews the time, if it is old, or from a clock that is far ahead.
  func renew(in set: inout WorkingSet) throws(StoreError) {
    guard let id = RecordID(Self.kind, Self.name), try isOld(in: set) else { return }
    try set.store(id, Heard(at: set.now), dueAt: nil, discardAt: nil)
  }

  private func isOld(in set: WorkingSet) throws(StoreError) -> Bool {
    guard let heardAt = try heardAt(in: set) else { return true }
    return Self.isOld(heardAt, at: set.now)
  }

  static func isOld(_ heardAt: UnixTime, at now: UnixTime) -> Bool { now - heardAt >= renewal }

  static func isRecent(_ heardAt: UnixTime, at now: UnixTime) -> Bool { now - heardAt < silence }
}
