/// The reply to a command, for a redelivery of the same command.
struct RecordedReply: Sendable, Hashable {
  /// Fingerprint of the order, which distinguishes it from another command under the same ID.
  var fingerprint: [UInt8]
  /// `error.v1`
  var type: String
  var body: [UInt8]
}
