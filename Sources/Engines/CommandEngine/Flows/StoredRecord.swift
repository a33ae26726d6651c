public import CountersignEncoding
public import CountersignTelemetry
public import RecordStore

/// A value that is stored as the body of a record. A later version adds tags, and reads bodies without them.
public protocol StoredRecord {
  /// Names every field once, for both directions. A tag never changes its meaning.
  /// - Parameters:
  ///   - record: the record. Of one that is written, only the ID.
  ///   - fields: fields that are written, or read.
  ///   - value: the value that is written. `nil` when one is read.
  /// - Throws: `UnreadableFields` when a field is absent or damaged.
  init(_ record: Record, _ fields: inout FieldCoder, _ value: Self?) throws(UnreadableFields)
}

extension StoredRecord {
  /// Reads the body of a record.
  /// - Throws: ``StoreError/unreadableBody``.
  public init(_ record: Record) throws(StoreError) {
    do throws(UnreadableFields) {
      var fields = try FieldCoder(reading: record.body)
      self = try Self(record, &fields, nil)
    } catch {
      throw .unreadableBody
    }
  }

  /// Body of a record with an ID.
  public func body(of id: RecordID) throws(StoreError) -> [UInt8] {
    do throws(UnreadableFields) {
      var fields = FieldCoder()
      _ = try Self(Record(id, body: []), &fields, self)
      return fields.bytes
    } catch {
      throw .unreadableBody
    }
  }
}

extension StoreError {
  /// A body that this version cannot read.
  public static let unreadableBody = StoreError(
    .content, "the body of a record cannot be read: it is damaged, or another version of the program wrote it")
}

extension WorkingSet {
  /// Stores a value under its ID, in the place of the one that is stored, if any.
  /// - Parameters:
  ///   - id: its identity.
  ///   - value: its content.
  ///   - isNew: whether nothing is stored under its ID unless it was loaded, as under a random one: it is not looked up.
  ///   - dueAt: time at which a sweep hands it to its flow.
  ///   - discardAt: time from which it may be deleted unread.
  ///   - uniqueKeys: keys that it alone holds.
  ///   - groupKeys: keys that it shares.
  /// - Throws: as ``record(_:)`` and ``put(_:)``.
  public mutating func store(
    _ id: RecordID, _ value: some StoredRecord, isNew: Bool = false, dueAt: UnixTime?, discardAt: UnixTime?,
    uniqueKeys: [UniqueKey] = [], groupKeys: [GroupKey] = []
  ) throws(StoreError) {
    var record = try (isNew ? records[id]?.current : self.record(id)) ?? Record(id, body: [])
    record.body = try value.body(of: id)
    record.dueAt = dueAt
    record.discardAt = discardAt
    record.uniqueKeys = uniqueKeys
    record.groupKeys = groupKeys
    try put(record)
  }
}
