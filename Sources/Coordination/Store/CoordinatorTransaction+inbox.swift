import Database
import Telemetry

extension CoordinatorTransaction {
  /// Knowledge of a message, if it came before.
  func inboxEntry(ofMessage id: String) throws(DatabaseError) -> InboxEntry? {
    if let entry = inbox[id] { return entry }
    return try session.first(
      "SELECT fingerprint, reply_type, reply, pending FROM inbox WHERE message_id = ?", [.text(id)]
    ) { row throws(DatabaseError) in
      row.bool(3)
        ? .waiting(fingerprint: row.blob(0))
        : .replied(RecordedReply(fingerprint: row.blob(0), type: row.text(1), body: row.blob(2)))
    }
  }

  /// Keeps the place of a message that is answered later, so that no other one is carried out under its ID.
  func reserve(messageID id: String, fingerprint: [UInt8]) throws(DatabaseError) {
    inbox[id] = .waiting(fingerprint: fingerprint)
    try session.execute(
      """
      INSERT INTO inbox (message_id, fingerprint, received_at, reply_type, reply, pending) VALUES (?, ?, ?, '', x'', 1)
      ON CONFLICT (message_id) DO NOTHING
      """, [.text(id), .blob(fingerprint), .integer(now.milliseconds)])
  }

  /// Records what a message was answered with, in the place that it may have kept. A reply that is there stays: a version before this one
  /// kept no place, so another message may have been answered under the ID.
  func record(_ reply: RecordedReply, toMessage id: String) throws(DatabaseError) {
    let isNew = try session.execute(
      """
      INSERT INTO inbox (message_id, fingerprint, received_at, reply_type, reply) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (message_id) DO UPDATE SET reply_type = excluded.reply_type, reply = excluded.reply, pending = 0
      WHERE pending = 1
      """,
      [.text(id), .blob(reply.fingerprint), .integer(now.milliseconds), .text(reply.type), .blob(reply.body)])
    if isNew > 0 { inbox[id] = .replied(reply) }
  }
}
