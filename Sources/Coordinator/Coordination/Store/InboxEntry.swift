/// The inbox's entry for a message.
enum InboxEntry: Sendable, Hashable {
  /// It was carried out and answered.
  case replied(RecordedReply)
  /// It waits, and is answered later.
  /// - Parameter fingerprint: fingerprint of the order.
  case waiting(fingerprint: [UInt8])
}
