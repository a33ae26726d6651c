import CountersignTelemetry

/// Ends the due records of all flows. A record that its flow cannot read is stepped around: it must not block the
/// others, nor keep its keys from new records.
struct Sweeper: Sendable {
  let context: EngineContext

  /// Delay before a record that was stepped around is tried again: another version of the program may run by then.
  static let pause = Duration.seconds(3600)
  /// Records of one transaction.
  static let maxRecords = 256
  /// Records of one sweep that the log names; more would add nothing.
  static let maxLogged = 16

  /// Ends the records of a kind that have been due longest. When the content of one of them makes the transaction fail,
  /// each gets a transaction of its own. Any other failure may be the store's, and is held against no record.
  /// - Returns: whether there may be more.
  func sweep(_ due: DueRecords) async throws(StoreError) -> Bool {
    do throws(StoreError) {
      return try await sweep(due, limit: Self.maxRecords)
    } catch {
      guard error.fault == .content else { throw error }
    }
    for _ in 0..<Self.maxRecords {
      do throws(StoreError) {
        guard try await sweep(due, limit: 1) else { return false }
      } catch {
        guard error.fault == .content else { throw error }
        try await stepAround(due.kind, error)
      }
    }
    return true
  }

  /// Steps around the record that has been due longest.
  private func stepAround(_ kind: RecordKind, _ error: StoreError) async throws(StoreError) {
    let claim = DueClaim(kind, limit: 1, pause: Self.pause)
    let outcome = try await context.store.sweep(claim, at: context.clock.now()) { records, set throws(StoreError) in
      for record in records { try Self.stepAround(record, in: &set) }
    }
    _ = try context.stored(outcome)
    note([error], unreadable: 0, kind)
  }

  private func sweep(_ due: DueRecords, limit: Int) async throws(StoreError) -> Bool {
    let claim = DueClaim(due.kind, limit: limit, pause: Self.pause) { records throws(StoreError) in
      var keys = StoreKeys()
      for record in records {
        // Of a record that cannot be read, its end tells so.
        do throws(StoreError) {
          try due.also(record, &keys)
        } catch {
          guard error.fault == .content else { throw error }
        }
      }
      return keys
    }
    let outcome = try await context.store.sweep(claim, at: context.clock.now()) { records, set throws(StoreError) in
      var errors: [StoreError] = []
      for record in records {
        do throws(StoreError) {
          try set.attempt { set throws(StoreError) in try due.end(record, &set) }
        } catch {
          guard error.fault == .content else { throw error }
          errors.append(error)
          try Self.stepAround(record, in: &set)
        }
      }
      return EngineContext.Applied(value: errors, messages: set.outgoing.count, effects: set.effects)
    }
    let (swept, _) = try context.stored(outcome)
    context.finish(swept.result)
    note(swept.result.value, unreadable: swept.unreadable, due.kind)
    return swept.rows >= claim.limit
  }

  /// Deletes an unreadable record if it is over, as a readable one would be; otherwise puts it off, and gives its keys
  /// free.
  private static func stepAround(_ record: Record, in set: inout WorkingSet) throws(StoreError) {
    if let discardAt = record.discardAt, discardAt <= set.now { return try set.remove(record.id) }
    var record = record
    record.dueAt = set.now + pause
    record.uniqueKeys = []
    try set.put(record)
  }

  private func note(_ errors: [StoreError], unreadable: Int, _ kind: RecordKind) {
    let count = errors.count + unreadable
    guard count > 0 else { return }
    context.metrics.skippedRows.with(kind.name).increment(by: UInt64(count))
    let all = errors + Array(repeating: FieldReader.unreadable, count: unreadable)
    for error in all.prefix(Self.maxLogged) {
      context.logger.error(
        "a row that is due cannot be dealt with and is stepped around",
        ["table": "\(kind.name)", .error: error.description, .retryIn: Self.pause])
    }
  }
}
