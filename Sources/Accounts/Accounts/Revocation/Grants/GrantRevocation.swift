import CommandEngine
import CountersignEncoding
import CountersignTelemetry

/// Revocation of a grant whose identity has left its account, or was refused before it had one.
///
/// It is stored with what took the identity away or refused it, so a crash forgets none.
struct GrantRevocation: Sendable {
  static let kind = RecordKind("grantRevocation")
  /// Time for which the coordinator, and by it Apple, is asked.
  static let patience = Erasure.patience
  /// Time that a user has to repeat a sign-in that has failed behind the page.
  static let respite = Duration.seconds(3600)
  /// Time between two starts, by their number. The last one goes for all further ones.
  static let pauses = Erasure.pauses
  /// Time between two looks at an operation that runs, likewise.
  static let looks: [Duration] = [
    .seconds(1), .seconds(2), .seconds(5), .seconds(15), .seconds(60), .seconds(300), .seconds(900), .seconds(3600),
  ]

  let id: RecordID
  let project: String
  let grant: ProviderGrant
  /// Subject that it is of.
  let subject: String?
  let beganAt: UnixTime
  /// ID of the ``Erasure`` that waits for its end, of a deleted account.
  let erasure: String?
  /// The coordinator's operation, once it is known.
  var operationID: String?
  private(set) var starts = 0
  private(set) var lookCount = 0

  /// Stores it, to be begun at once.
  ///
  /// - Parameter place: distinguishes the grants that an account loses at once.
  static func begin(
    _ lost: LostGrant, of account: AccountRecord, place: Int = 0, erasure: RecordID? = nil,
    in set: inout WorkingSet
  ) throws(StoreError) {
    try begin(
      lost, of: account.project, as: "\(account.id.text).\(set.now.milliseconds).\(place)", erasure: erasure, in: &set)
  }

  /// Stores that of a grant which no account has.
  /// - Parameters:
  ///   - name: distinguishes it, and is the same in each run of the command.
  ///   - respite: time until its first step.
  static func begin(
    _ lost: LostGrant, of project: String, as name: String, erasure: RecordID? = nil, after respite: Duration = .zero,
    in set: inout WorkingSet
  ) throws(StoreError) {
    guard let id = RecordID(kind, name) else { throw StoreError.unreadableBody }
    let revocation = Self(id: id, project: project, of: lost, beganAt: set.now, erasure: erasure?.text)
    try revocation.store(isNew: true, dueAt: set.now + respite, in: &set)
  }

  private init(id: RecordID, project: String, of lost: LostGrant, beganAt: UnixTime, erasure: String?) {
    self.id = id
    self.project = project
    grant = lost.grant
    subject = lost.subject
    self.beganAt = beganAt
    self.erasure = erasure
  }

  /// ID of the message of the next step, and the time at which the one after it is due.
  mutating func advance(at now: UnixTime) -> (messageID: String, dueAt: UnixTime) {
    guard operationID != nil else {
      let pause = Self.pauses[min(starts, Self.pauses.count - 1)]
      starts += 1
      return ("\(id.text).\(starts)", now + pause)
    }
    let pause = Self.looks[min(lookCount, Self.looks.count - 1)]
    lookCount += 1
    return ("\(id.text).\(starts).\(lookCount)", now + pause)
  }

  /// Forgets an operation that came to nothing: another one is begun when the record is due.
  mutating func startOver(at now: UnixTime) -> UnixTime {
    operationID = nil
    lookCount = 0
    return now + Self.pauses[min(max(starts - 1, 0), Self.pauses.count - 1)]
  }

  func store(isNew: Bool = false, dueAt: UnixTime, in set: inout WorkingSet) throws(StoreError) {
    try set.store(id, self, isNew: isNew, dueAt: dueAt, discardAt: beganAt + Self.patience * 2)
  }
}

extension GrantRevocation: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ revocation: Self?) throws(UnreadableFields) {
    id = record.id
    project = try fields.required(1, revocation?.project)
    grant = try fields.required(2, revocation?.grant)
    beganAt = try fields.required(3, revocation?.beganAt)
    erasure = fields.optional(4, revocation?.erasure)
    operationID = fields.optional(5, revocation?.operationID)
    starts = try fields.required(6, revocation?.starts)
    lookCount = try fields.required(7, revocation?.lookCount)
    subject = fields.optional(8, revocation?.subject)
  }
}
