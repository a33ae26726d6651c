public import CountersignTelemetry

/// Entry of a message in the inbox: one message is carried out once, and answered alike.
public struct InboxEntry: Sendable, Hashable {
  /// Progress of the message.
  public enum State: Sendable, Hashable {
    /// It waits, and is answered later.
    case reserved
    /// It was answered.
    /// - Parameters:
    ///   - type: type of the reply.
    ///   - body: body of the reply.
    case replied(type: String, body: [UInt8])
    /// It was carried out, and its reply is not recorded because it holds a secret.
    /// - Parameter note: data from which the flow makes the reply again, such as the ID of a session.
    case unrecorded(note: [UInt8])
  }

  /// Fingerprint of the order, which distinguishes it from another command under the same ID.
  public var fingerprint: [UInt8]
  /// Progress of the message.
  public var state: State
  /// Time from which the entry may be purged.
  public var keepUntil: UnixTime

  /// - Parameters:
  ///   - state: progress of the message.
  ///   - fingerprint: fingerprint of the order, up to ``StoreLimits/maxFingerprintBytes`` bytes.
  ///   - keepUntil: time from which the entry may be purged.
  public init(_ state: State, fingerprint: [UInt8], keepUntil: UnixTime) {
    self.state = state
    self.fingerprint = fingerprint
    self.keepUntil = keepUntil
  }

  func check() throws(StoreError) {
    try StoreError.check(fingerprint.count, 0...StoreLimits.maxFingerprintBytes, "a fingerprint")
    switch state {
    case .reserved: break
    case .replied(let type, let body):
      try StoreError.check(type.utf8.count, 0...StoreLimits.maxIDBytes, "the type of a reply")
      try StoreError.check(type, "the type of a reply")
      try StoreError.check(body.count, 0...StoreLimits.maxReplyBytes, "a reply")
    case .unrecorded(let note): try StoreError.check(note.count, 0...StoreLimits.maxReplyBytes, "a note")
    }
  }
}
