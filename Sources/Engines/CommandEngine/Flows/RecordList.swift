import CountersignEncoding
public import CountersignMessages
public import CountersignTelemetry
public import RecordStore

extension RecordID {
  private static let digits = 16

  /// ID of a record in a list that begins with the latest. Groups are read by the bytes of their IDs.
  /// - Parameter id: distinguishes records of the same millisecond.
  /// - Throws: ``StoreError`` for a text that no record can have.
  public init(latestFirst kind: RecordKind, at time: UnixTime, _ id: String) throws(StoreError) {
    let place = Hexadecimal.text(UInt64(bitPattern: Int64.max - time.milliseconds), width: Self.digits)
    guard let recordID = RecordID(kind, "\(place).\(id)") else { throw StoreError.unreadableBody }
    self = recordID
  }
}

extension StoreKeys.GroupPage {
  /// Page of a list, as a command asks for it.
  /// - Parameters:
  ///   - limits: what `limit` may be.
  ///   - after: ID of the last record of the page before.
  ///   - maxRecords: records that are loaded at most.
  /// - Throws: `INVALID_ARGUMENT` for another limit, and for a place that no list has given.
  public init(
    of kind: RecordKind, limit: Int, in limits: ClosedRange<Int>, after: String?, maxRecords: Int = .max
  ) throws(APIError) {
    guard limits.contains(limit) else {
      throw APIError(
        .invalidArgument, "limit must be \(limits.lowerBound) to \(limits.upperBound)", field: "limit")
    }
    if let after, RecordID(kind, after) == nil {
      throw APIError(.invalidArgument, "after is not the 'next' of a reply", field: "after")
    }
    self.init(behind: after ?? "", limit: min(limit, maxRecords))
  }
}

/// Room for the elements of a list in a reply.
public enum ReplyRoom {
  /// Maximum size of the rest of the body.
  private static let rest = 4_096

  /// Number of elements that fit, by their bytes: at least one.
  public static func fitting(_ sizes: [Int]) -> Int {
    var room = MessageLimits.maxBodyBytes - rest
    let count = sizes.prefix { size in
      room -= size + 1
      return room >= 0
    }.count
    return max(count, min(1, sizes.count))
  }
}
