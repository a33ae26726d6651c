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
  }
}
