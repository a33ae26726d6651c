import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// A service's command about a verification that waits for the coordinator's answer.
struct VerificationCall: WaitingCommand {
  static let kind = RecordKind("verificationCall")

  let id: RecordID
  /// `message_id` of the command to the coordinator, which a repeated request shares.
  let messageID: String
  /// Expected app of the verification.
  let app: String?
  let fingerprint: [UInt8]
  let deadline: UnixTime
  var envelope: Envelope
}

extension VerificationCall: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ call: Self?) throws(UnreadableFields) {
    id = record.id
    messageID = try fields.required(1, call?.messageID)
    app = fields.optional(2, call?.app)
    fingerprint = try fields.required(3, call?.fingerprint)
    deadline = try fields.required(4, call?.deadline)
    envelope = try fields.required(5, call?.envelope)
  }
}
