import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// A start of a second factor that waits for the coordinator's answer. Its ID is the start's `message_id`.
struct PhoneStart: WaitingCommand {
  static let kind = RecordKind("phoneStart")

  let id: RecordID
  let app: String
  let purpose: VerificationPurpose
  let fingerprint: [UInt8]
  let deadline: UnixTime
  let project: String
  let account: RecordID
  var envelope: Envelope
}

extension PhoneStart: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ start: Self?) throws(UnreadableFields) {
    id = record.id
    app = try fields.required(1, start?.app)
    purpose = try fields.required(2, start?.purpose)
    fingerprint = try fields.required(3, start?.fingerprint)
    deadline = try fields.required(4, start?.deadline)
    envelope = try fields.required(5, start?.envelope)
    project = try fields.required(6, start?.project)
    guard let account = RecordID(AccountRecord.kind, try fields.required(7, start?.account.text)) else {
      throw UnreadableFields()
    }
    self.account = account
  }
}

extension CommandReader {
  /// Limit of the starts for second factors of an account that the coordinator accepted. One that it refuses, for the
  /// lack of a proof of the app above all, does not count.
  func startedCodes(ofAccount account: RecordID, project: String) -> LimitBench {
    limits([.secondFactorStartsPerAccount], of: LimitSubject(project: project, account: account.text))
  }
}
