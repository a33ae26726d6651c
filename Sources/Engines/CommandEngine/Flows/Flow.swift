public import CountersignMessages
public import CountersignTelemetry
public import RecordStore

/// Part of a service for one purpose: its commands, the reports that it waits for, its records and periodic tasks.
///
/// A flow is a folder of its service and one line in the ``FlowRegistry``. The queues, the maintenance and
/// `operation.status` read the registry; nothing else lists flows.
public protocol Flow: Sendable {
  /// Commands that it carries out.
  var commands: [CommandKind] { get }
  /// Results of its jobs, and replies to its own commands.
  var reports: [ReportKind] { get }
  /// Events of all types. At most one flow of a service takes them, and its queue of reports has nothing else then.
  var events: EventKind? { get }
  /// Kinds of its records that become due.
  var dueRecords: [DueRecords] { get }
  /// Kinds of its records that `operation.status` shows.
  var operations: [OperationRecords] { get }
  /// Tasks of each round of the maintenance, before anything due is ended.
  var tasks: [FlowTask] { get }
  /// Restores what the flow keeps in memory. Called once, before anything is consumed.
  /// - Throws: ``StoreError``, when the store cannot be read; the service does not start then.
  func begin(_ store: any Store, at now: UnixTime) async throws(StoreError)
  /// Sets gauges of the whole store, which other processes change as well. Called at the start, and every few seconds.
  /// - Throws: ``StoreError``, when the store cannot be read.
  func measure(_ store: any Store) async throws(StoreError)
}

extension Flow {
  public var commands: [CommandKind] { [] }
  public var reports: [ReportKind] { [] }
  public var events: EventKind? { nil }
  public var dueRecords: [DueRecords] { [] }
  public var operations: [OperationRecords] { [] }
  public var tasks: [FlowTask] { [] }
  public func begin(_ store: any Store, at now: UnixTime) async throws(StoreError) {}
  public func measure(_ store: any Store) async throws(StoreError) {}
}

/// The flows of a service.
public struct FlowRegistry: Sendable {
  /// The flows, in the order in which the maintenance visits them.
  public let flows: [any Flow]
  /// Commands that the service takes, ordered by their types.
  public let commandKinds: [CommandKind]
  /// Reports that the service takes, ordered by their types.
  public let reportKinds: [ReportKind]
  /// Events that the service takes in the place of reports. `nil` for most services.
  public let events: EventKind?
  /// Kinds of records that become due, in the order in which they are ended.
  public let dueRecords: [DueRecords]
  let commands: [MessageType: CommandKind]
  /// Several flows may wait for one type: another service's `error.v1`.
  let reports: [MessageType: [ReportKind]]
  let commandTypes: [MessageType]
  let reportTypes: [MessageType]
  let operations: [OperationRecords]
  let missingFields: [String: APIError]

  /// - Parameters:
  ///   - flows: the flows; a command belongs to one of them, and a report to the first that reads it as its own.
  ///   - missingFields: errors for required fields that are absent, where a flow's clients know a code of their own.
  public init(_ flows: [any Flow], missingFields: [String: APIError] = [:]) {
    self.flows = flows
    self.missingFields = missingFields
    let status = OperationStatusCommand(flows.flatMap(\.operations))
    let kinds = flows.flatMap(\.commands) + (status.operations.isEmpty ? [] : [status.kind])
    commandKinds = kinds.sorted { $0.type.text < $1.type.text }
    reportKinds = flows.flatMap(\.reports).sorted { $0.type.text < $1.type.text }
    events = flows.lazy.compactMap(\.events).first
    dueRecords = flows.flatMap(\.dueRecords)
    commands = Dictionary(uniqueKeysWithValues: commandKinds.map { ($0.type, $0) })
    reports = Dictionary(grouping: reportKinds, by: \.type)
    commandTypes = commandKinds.map(\.type)
    reportTypes = reportKinds.map(\.type)
    operations = status.operations
  }

  /// Periodic tasks.
  public var tasks: [FlowTask] { flows.flatMap(\.tasks) }
}

/// Records of one kind that become due: at their deadline, and then when they may be deleted.
public struct DueRecords: Sendable {
  /// Kind of the records.
  public let kind: RecordKind
  /// Part of the maintenance that ends them. Its label in the metrics, and its name in `/readyz`.
  public let part: MaintenancePart
  let end: @Sendable (Record, inout WorkingSet) throws(StoreError) -> Void

  public init(
    _ kind: RecordKind, part: MaintenancePart,
    end: @escaping @Sendable (Record, inout WorkingSet) throws(StoreError) -> Void
  ) {
    self.kind = kind
    self.part = part
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

  static let own = [publishLeftovers, purgeReplies, purgeCounts, purgeRecords, purgeOutbox, measure]
}

/// A task of each round of the maintenance.
public struct FlowTask: Sendable {
  /// Part of the maintenance.
  public let part: MaintenancePart
  let run: @Sendable (any Store, UnixTime) async throws(StoreError) -> Bool

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

  public init(
    _ kind: RecordKind, status: @escaping @Sendable (Record, UnixTime) throws(StoreError) -> OperationStatus
  ) {
    self.kind = kind
    self.status = status
  }
}

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

    func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
      let found = try set.each(operations) { operation throws(StoreError) in
        try RecordID(operation.kind, id).flatMap { id throws(StoreError) in try set.record(id) }
      }
      for (operation, record) in zip(operations, found) {
        if let record { return try CommandAnswer(operation.status(record, set.now)) }
      }
      return CommandAnswer(.unknownOperation)
    }
  }
}

extension APIError {
  static let unknownOperation = APIError(
    .invalidSessionInfo,
    "there is no such operation, or it ended too long ago: send an operationID, or the receipt of app.verify",
    field: "operationID")
}
