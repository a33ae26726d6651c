import CountersignMessages
import CountersignTelemetry
import SQLite

extension CoordinatorTransaction {
  /// The inbox's entry for a message that was seen before.
  func inboxEntry(of message: MessageIdentity) throws(DatabaseError) -> InboxEntry? {
    if let entry = try inboxEntry(under: message.key) { return entry }
    return try hasInboxWithoutSender() ? try inboxEntry(under: message.messageID) : nil
  }

  /// Whether commands from before version 10 are recorded, under their IDs alone.
  private func hasInboxWithoutSender() throws(DatabaseError) -> Bool {
    if let known = knowsInboxWithoutSender { return known }
    let known =
      try session.first(
        "SELECT EXISTS (SELECT 1 FROM inbox WHERE number <= (SELECT max(last_number) FROM inbox_without_sender))"
      ) { row throws(DatabaseError) in row.bool(0) } ?? false
    knowsInboxWithoutSender = known
    return known
  }

  private func inboxEntry(under key: String) throws(DatabaseError) -> InboxEntry? {
    if let entry = inbox[key] { return entry }
    return try session.first(
      "SELECT fingerprint, reply_type, reply, pending FROM inbox WHERE key = ?", [.text(key)]
    ) { row throws(DatabaseError) in
      row.bool(3)
        ? .waiting(fingerprint: row.blob(0))
        : .replied(RecordedReply(fingerprint: row.blob(0), type: row.text(1), body: row.blob(2)))
    }
  }

  /// Reserves the place of a message that is answered later, so that no other one is carried out under its ID.
  /// - Parameter key: the key of its identity.
  func reserve(message key: String, fingerprint: [UInt8]) throws(DatabaseError) {
    inbox[key] = .waiting(fingerprint: fingerprint)
    try session.execute(
      """
      INSERT INTO inbox (key, fingerprint, received_at, reply_type, reply, pending) VALUES (?, ?, ?, '', x'', 1)
      ON CONFLICT (key) DO NOTHING
      """, [.text(key), .blob(fingerprint), .integer(now.milliseconds)])
  }

  /// Records the reply to a message, in its reserved place if any. An existing reply stays: an earlier version reserved
  /// no place, so another message may have been answered under the ID.
  /// - Parameter key: the key of the message's identity.
  func record(_ reply: RecordedReply, toMessage key: String) throws(DatabaseError) {
    let isNew = try session.execute(
      """
      INSERT INTO inbox (key, fingerprint, received_at, reply_type, reply) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET reply_type = excluded.reply_type, reply = excluded.reply, pending = 0
      WHERE pending = 1
      """,
      [.text(key), .blob(reply.fingerprint), .integer(now.milliseconds), .text(reply.type), .blob(reply.body)])
    if isNew > 0 { inbox[key] = .replied(reply) }
  }
}

/// The inbox's entry for a message.
enum InboxEntry: Sendable, Hashable {
  /// It was carried out and answered.
  case replied(RecordedReply)
  /// It waits, and is answered later.
  /// - Parameter fingerprint: fingerprint of the order.
  case waiting(fingerprint: [UInt8])
}

/// The reply to a command, for a redelivery of the same command.
struct RecordedReply: Sendable, Hashable {
  /// Fingerprint of the order, which distinguishes it from another command under the same ID.
  var fingerprint: [UInt8]
  /// `error.v1`
  var type: String
  var body: [UInt8]
}
