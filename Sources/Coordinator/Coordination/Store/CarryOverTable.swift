import CommandEngine
import CountersignTelemetry

/// A table of versions before the command engine, and the store's content of its rows.
protocol CarryOverTable: EarlierCarrier {
  /// Tables that are dropped with it: they only lead to its rows.
  var companions: [String] { get }

  /// Adds what ``put(_:in:)`` looks up.
  /// - Throws: ``StoreError/Code/content`` for a row that cannot be read.
  func keys(of row: EarlierRow, at now: UnixTime) throws(StoreError) -> StoreKeys

  /// Adds what follows from the records that the first keys have found.
  /// - Throws: ``StoreError/Code/content`` for a row that cannot be read.
  func moreKeys(of row: EarlierRow, from set: WorkingSet) throws(StoreError) -> StoreKeys

  /// Puts the content of a row into the set, unless it is there.
  /// - Throws: ``StoreError/Code/content`` for a row that cannot be read.
  func put(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError)

  /// Whether a row that cannot be read is so old that a readable one would be deleted: personal data is not kept for a
  /// later version.
  /// - Throws: ``StoreError/Code/content`` when even that cannot be read.
  func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool
}

extension CarryOverTable {
  var companions: [String] { [] }

  func keys(of row: EarlierRow, at now: UnixTime) throws(StoreError) -> StoreKeys { StoreKeys() }

  func moreKeys(of row: EarlierRow, from set: WorkingSet) throws(StoreError) -> StoreKeys { StoreKeys() }

  func isOver(_ row: EarlierRow, at now: UnixTime) throws(StoreError) -> Bool { false }

  // MARK: Carrying

  func addKeys(of row: EarlierRow, to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try unlessOver(row, at: now) { () throws(StoreError) in keys.add(try self.keys(of: row, at: now)) }
  }

  func addMoreKeys(of row: EarlierRow, to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {
    try unlessOver(row, at: set.now) { () throws(StoreError) in keys.add(try moreKeys(of: row, from: set)) }
  }

  func carry(_ row: EarlierRow, in set: inout WorkingSet) throws(StoreError) {
    try unlessOver(row, at: set.now) { () throws(StoreError) in
      try set.attempt { set throws(StoreError) in try put(row, in: &set) }
    }
  }

  /// Passes over the error of a row that is over.
  private func unlessOver(
    _ row: EarlierRow, at now: UnixTime, _ step: () throws(StoreError) -> Void
  ) throws(StoreError) {
    do throws(StoreError) {
      try step()
    } catch {
      guard error.fault == .content, try isOver(row, at: now) else { throw error }
    }
  }
}
