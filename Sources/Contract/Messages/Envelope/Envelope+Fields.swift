public import CountersignEncoding
import CountersignTelemetry

/// The envelope of a command that waits: its type and ID, its sender, and the address, trace and correlation of its
/// reply.
extension Envelope: FieldCoded {
  public init(_ fields: inout FieldCoder, _ envelope: Envelope?) throws(UnreadableFields) {
    let type = try fields.required(1, envelope?.type.text)
    self.init(
      type: try FieldCoder.present(envelope?.type ?? MessageType(parsing: type)),
      messageID: try fields.required(2, envelope?.messageID),
      correlationID: fields.optional(3, envelope?.correlationID), replyTo: fields.optional(4, envelope?.replyTo),
      userID: fields.optional(5, envelope?.userID))
    let traceparent = fields.optional(6, envelope?.trace?.traceparent)
    trace = envelope?.trace ?? traceparent.flatMap(TraceContext.init(traceparent:))
  }
}
