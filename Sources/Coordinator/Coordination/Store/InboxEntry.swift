/// Knowledge of a message that came before.
enum InboxEntry: Sendable, Hashable {
  /// It was carried out, and answered.
  case replied(RecordedReply)
  /// It waits, and is answered later.
  /// - Parameter fingerprint: what was asked for.
  case waiting(fingerprint: [UInt8])
}
