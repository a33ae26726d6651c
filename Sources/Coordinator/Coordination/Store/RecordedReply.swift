/// What was answered to a command, to be answered again when the same message comes again.
struct RecordedReply: Sendable, Hashable {
  /// What was asked for, to tell the same message from another one under the same ID.
  var fingerprint: [UInt8]
  /// `error.v1`
  var type: String
  var body: [UInt8]
}
