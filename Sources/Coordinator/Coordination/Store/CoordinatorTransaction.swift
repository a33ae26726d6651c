import CountersignMessages
import CountersignTelemetry
import SQLite

/// Reads and changes of one batch. It reads through to the database, caches, and writes everything once in
/// ``flush(forRelay:)``.
///
/// It belongs to one body of `Database.write`; an error thrown from it undoes that body.
final class CoordinatorTransaction: UsageStore {
  private struct Held {
    var verification: PhoneVerification
    /// 0 for a verification that is not in the database yet.
    var version: Int
    var isChanged: Bool
    /// Its counted ending at the time it was loaded.
    let ending: ConversionEnding?
    /// Its later handles in the database.
    let storedHandles: Int
  }

  private struct HeldUsage {
    var record: UsageRecord
    var isChanged: Bool
  }

  let now: UnixTime
  let session: Session
  /// Changes that wait for ``flush(forRelay:)``.
  private var waitingChanges = 0
  let retention: Duration
  private var verifications: [String: Held] = [:]
  /// IDs in the order of arrival, so that ``flush(forRelay:)`` is deterministic.
  private var order: [String] = []
  private var live: [VerificationKey: String?] = [:]
  /// The verification by the ID of a later handle.
  private var handles: [String: String] = [:]
  private var usages: [LimitSubject: HeldUsage] = [:]
  /// See ``inboxEntry(of:)``; by key.
  var inbox: [String: InboxEntry] = [:]
  /// `nil` before the first look.
  var knowsInboxWithoutSender: Bool?
  private var outgoing: [OutgoingMessage] = []
  /// Changes for ``ConversionMonitor``, applied after the commit. Complete after ``flush(forRelay:)``.
  var changes = ConversionChanges()
  /// Counts for the metrics, added after the commit: what an undone transaction did does not count.
  var counts = TransactionCounts()

  init(_ session: Session, at now: UnixTime, retention: Duration) {
    self.session = session
    self.now = now
    self.retention = retention
  }

  /// Grows with each change, whether written or pending: a command that leaves it unchanged has changed nothing.
  var changeCount: Int { waitingChanges + session.totalChanges }

  // MARK: Verifications

  func verification(_ id: String) throws(DatabaseError) -> PhoneVerification? {
    if let held = verifications[id] { return held.verification }
    let row = try session.first(
      "SELECT \(VerificationRow.columns) FROM verification WHERE id = ?", [.text(id)], VerificationRow.read)
    guard let row else { return nil }
    hold(row.verification, version: row.version)
    return row.verification
  }

  /// The verification and the handle that an ID names.
  func found(_ id: String) throws(DatabaseError) -> (verification: PhoneVerification, handle: Int)? {
    if let verification = try verification(id) { return (verification, PhoneVerification.firstHandle) }
    guard let owner = try owner(ofHandle: id), let verification = try verification(owner),
      let handle = verification.handle(withID: id)
    else {
      return nil
    }
    return (verification, handle)
  }

  private func owner(ofHandle id: String) throws(DatabaseError) -> String? {
    if let known = handles[id] { return known }
    return try session.first(
      "SELECT verification_id FROM verification_handle WHERE id = ?", [.text(id)]
    ) { row throws(DatabaseError) in row.text(0) }
  }

  /// The verification of a number that has not ended, even if its deadline has passed.
  func liveVerification(_ key: VerificationKey) throws(DatabaseError) -> PhoneVerification? {
    if let known = live[key] { return known.flatMap { verifications[$0]?.verification } }
    let row = try session.first(
      """
      SELECT \(VerificationRow.columns) FROM verification
      WHERE phone_number = ? AND app = ? AND purpose = ? AND subject = ? AND is_test = ?
        AND \(CoordinatorSchema.requesterOfFictional) = ? AND live = 1
      """,
      [
        .text(key.phoneNumber), .text(key.app), .text(key.purpose.rawValue), .text(key.subject ?? ""),
        Value(key.isTestNumber), .blob(key.requester),
      ],
      VerificationRow.read)
    guard let row else {
      live[key] = .some(nil)
      return nil
    }
    // It may have been changed, and ended, earlier in this batch.
    if let held = verifications[row.verification.id] { return held.verification.state.isLive ? held.verification : nil }
    hold(row.verification, version: row.version)
    return row.verification
  }

  private func hold(_ verification: PhoneVerification, version: Int) {
    verifications[verification.id] = Held(
      verification: verification, version: version, isChanged: false,
      ending: version == 0 ? nil : ConversionEnding(verification),
      storedHandles: version == 0 ? 0 : verification.handles.later.count)
    order.append(verification.id)
    track(verification)
  }

  func set(_ verification: PhoneVerification) {
    waitingChanges += 1
    if verifications[verification.id] == nil { hold(verification, version: 0) }
    verifications[verification.id]?.verification = verification
    verifications[verification.id]?.isChanged = true
    track(verification)
  }

  private func track(_ verification: PhoneVerification) {
    for handle in verification.handles.later { handles[handle.id] = verification.id }
    let key = verification.key
    if verification.state.isLive {
      live[key] = verification.id
    } else if live[key] == .some(verification.id) {
      live[key] = .some(nil)
    }
  }

  /// All verifications of a number, of every app, whether or not they have ended.
  func verifications(ofNumber number: String) throws(DatabaseError) -> [PhoneVerification] {
    let stored = try session.query(
      "SELECT id FROM verification WHERE phone_number = ?", [.text(number)]
    ) { row throws(DatabaseError) in row.text(0) }
    let new = order.filter { verifications[$0]?.verification.phoneNumber == number && !stored.contains($0) }
    var found: [PhoneVerification] = []
    for id in stored + new {
      if let verification = try verification(id) { found.append(verification) }
    }
    return found
  }

  func delete(_ verification: PhoneVerification) throws(DatabaseError) {
    try session.execute("DELETE FROM verification WHERE id = ?", [.text(verification.id)])
    verifications[verification.id] = nil
  }

  // MARK: Limits

  func usage(of subject: LimitSubject) throws(DatabaseError) -> UsageRecord {
    if let held = usages[subject] { return held.record }
    var text = try counts(subject.key)
    if text == nil, let earlier = subject.earlierKey { text = try counts(earlier) }
    let record = text.map { UsageRecord(text: $0) } ?? UsageRecord()
    usages[subject] = HeldUsage(record: record, isChanged: false)
    return record
  }

  private func counts(_ key: String) throws(DatabaseError) -> String? {
    try session.first(
      "SELECT counts FROM usage WHERE subject = ?", [.text(key)]
    ) { row throws(DatabaseError) in row.text(0) }
  }

  func set(_ usage: UsageRecord, of subject: LimitSubject) {
    waitingChanges += 1
    usages[subject] = HeldUsage(record: usage, isChanged: true)
  }

  /// Discards the counts of this batch.
  func forgetUsage(of subject: LimitSubject) {
    usages[subject] = HeldUsage(record: UsageRecord(), isChanged: false)
  }

  // MARK: Outbox

  func enqueue(_ message: OutgoingMessage) {
    waitingChanges += 1
    outgoing.append(message)
  }

  // MARK: End

  /// Writes the changes.
  ///
  /// - Parameter forRelay: whether ``OutboxRelay`` is to publish the messages; otherwise the caller does.
  /// - Returns: the row of the outbox with the messages to publish, if any.
  func flush(forRelay: Bool = false) throws(DatabaseError) -> OutboxRow? {
    // Ended rows make room in the index of the live ones, so they come before new ones.
    for isNew in [false, true] {
      for id in order {
        guard let held = verifications[id], held.isChanged, (held.version == 0) == isNew else { continue }
        try write(held)
      }
    }
    for (subject, usage) in usages where usage.isChanged {
      try session.execute(
        """
        INSERT INTO usage (subject, counts, expires_at) VALUES (?, ?, ?)
        ON CONFLICT (subject) DO UPDATE SET counts = excluded.counts, expires_at = excluded.expires_at
        """,
        [.text(subject.key), .text(usage.record.text), .integer(usage.record.expiresAt.milliseconds)])
    }
    guard !outgoing.isEmpty else { return nil }
    try session.execute(
      "INSERT INTO outbox (created_at, retry_at, count, messages) VALUES (?, ?, ?, ?)",
      [
        .integer(now.milliseconds), forRelay ? .integer(now.milliseconds) : .null, Value(outgoing.count),
        .blob(OutboxCodec.encode(outgoing)),
      ])
    return OutboxRow(number: session.lastInsertedRowID, messages: outgoing)
  }

  private func write(_ held: Held) throws(DatabaseError) {
    let verification = held.verification
    changes.note(verification, before: held.ending)
    let dueAt = verification.state.isLive ? verification.expiresAt : (verification.endedAt ?? now) + retention
    if held.version == 0 {
      try VerificationRow.insert(verification, dueAt: dueAt, in: session)
    } else if !(try VerificationRow.update(verification, dueAt: dueAt, from: held.version, in: session)) {
      throw DatabaseError(.busy, "another process changed the same verification")
    }
    for handle in verification.handles.later.dropFirst(held.storedHandles) {
      try session.execute(
        "INSERT INTO verification_handle (id, verification_id) VALUES (?, ?)",
        [.text(handle.id), .text(verification.id)])
    }
  }
}
