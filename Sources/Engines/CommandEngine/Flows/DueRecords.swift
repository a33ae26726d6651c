public import CountersignMessages
public import CountersignTelemetry

/// Records of one kind that become due: at their deadline, and then when they may be deleted.
public struct DueRecords: Sendable {
  /// Kind of the records.
  public let kind: RecordKind
  /// Part of the maintenance that ends them; its label in the metrics, and its name in `/readyz`.
  public let part: MaintenancePart
  let also: @Sendable (Record, inout StoreKeys) throws(StoreError) -> Void
  let end: @Sendable (Record, inout WorkingSet) throws(StoreError) -> Void

  /// - Parameters:
  ///   - kind: kind of the records.
  ///   - part: part of the maintenance that ends them.
  ///   - also: adds what ending a record looks up.
  ///   - end: ends a record that is due, or deletes it; a record that it leaves as it is, or cannot read, is put off.
  public init(
    _ kind: RecordKind, part: MaintenancePart,
    also: @escaping @Sendable (Record, inout StoreKeys) throws(StoreError) -> Void = { _, _ in },
    end: @escaping @Sendable (Record, inout WorkingSet) throws(StoreError) -> Void
  ) {
    self.kind = kind
    self.part = part
    self.also = also
    self.end = end
  }
}

/// A part of the maintenance. The word is its label in the metrics, and its name in `/readyz`.
public struct MaintenancePart: RawRepresentable, Sendable, Hashable {
  public let rawValue: String

  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  static let publishLeftovers = MaintenancePart(rawValue: "publish_leftovers")
  static let purgeReplies = MaintenancePart(rawValue: "purge_replies")
  static let purgeCounts = MaintenancePart(rawValue: "purge_counts")
  static let purgeRecords = MaintenancePart(rawValue: "purge_records")
  static let purgeOutbox = MaintenancePart(rawValue: "purge_outbox")
  static let measure = MaintenancePart(rawValue: "measure")
}

/// A task of each round of the maintenance.
public struct FlowTask: Sendable {
  /// Part of the maintenance.
  public let part: MaintenancePart
  let run: @Sendable (any Store, UnixTime) async throws(StoreError) -> Bool

  /// - Parameters:
  ///   - part: part of the maintenance.
  ///   - run: does the task; returns whether there may be more of it.
  public init(
    _ part: MaintenancePart, run: @escaping @Sendable (any Store, UnixTime) async throws(StoreError) -> Bool
  ) {
    self.part = part
    self.run = run
  }
}

/// Records of one kind whose state `operation.status` shows, under their ID.
public struct OperationRecords: Sendable {
  /// Kind of the records.
  public let kind: RecordKind
  let status: @Sendable (Record, UnixTime) throws(StoreError) -> OperationStatus

  /// - Parameters:
  ///   - kind: kind of the records.
  ///   - status: the state of a record at a time, including an expiry that the maintenance has not processed yet.
  public init(
    _ kind: RecordKind, status: @escaping @Sendable (Record, UnixTime) throws(StoreError) -> OperationStatus
  ) {
    self.kind = kind
    self.status = status
  }
}

/// `operation.status`: looks for the operation among the records of all flows.
struct OperationStatusCommand: Sendable {
  let operations: [OperationRecords]

  init(_ operations: [OperationRecords]) {
    self.operations = operations
  }

  var kind: CommandKind {
    CommandKind(GetOperationStatus.self, isLook: true) { [operations] command, _, _ throws(APIError) in
      Order(id: command.operationID, operations: operations)
    }
  }

  private struct Order: CommandOrder {
    let id: String
    let operations: [OperationRecords]

    func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
      for operation in operations {
        if let id = RecordID(operation.kind, id) { keys.add(record: id) }
      }
    }

    func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
      for operation in operations {
        guard let id = RecordID(operation.kind, id), let record = try set.record(id) else { continue }
        return try CommandAnswer(operation.status(record, set.now))
      }
      return CommandAnswer(.unknownOperation)
    }
  }
}

extension APIError {
  static let unknownOperation = APIError(
    .invalidSessionInfo,
    "there is no such operation, or it is too long over: give back an operationID, or the receipt of app.verify",
    field: "operationID")
}
