import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// `keys.rotate`: makes the next key before its time.
///
/// - Retiring: published now, it signs when verifiers no longer have old keys. A key that is already on its way is the
///   answer.
/// - Withdrawing: it signs at once, and all other key records are deleted, even unreadable ones.
struct RotationOrder: CommandOrder {
  let fingerprint: [UInt8]
  private let former: [[UInt8]]
  private let withdraws: Bool
  private let keys: SigningKeys
  private let logger: Logger
  /// Made in the stage. Its place and its time to sign are known in the transaction, which may be much later.
  private var made: SigningKeyRecord?

  init(_ command: RotateKeys, _ keys: SigningKeys, _ hashes: AccountHashes, _ logger: Logger) {
    withdraws = command.withdraw
    self.keys = keys
    self.logger = logger
    (fingerprint, former) = hashes.fingerprints("rotate keys", [withdraws ? "withdraw" : "retire"])
  }

  func formerFingerprints() -> [[UInt8]] { former }

  /// The key takes a tenth of a second and more, and changes nothing: a command that was answered makes one in vain.
  var stage: CommandStage? {
    CommandStage { [self] access throws(StoreError) in
      var order = self
      let now = access.now()
      order.made = try Self.stored { () throws(SigningKeyProblem) in
        try SigningKeyRecord.make(number: 1, publishedAt: now, signsFrom: now, sealedUnder: keys.ring)
      }
      return order
    }
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let records = try set.group(keys.purpose.group).records
    let current = keys.read(records)
    if !withdraws {
      // A key that cannot be opened here may be the one that signs elsewhere.
      guard let last = current.entries.last, !current.isLost else { return CommandAnswer(.noSigningKey) }
      if last.record.signsFrom > set.now { return try answer(last.record, withdrawn: []) }
    }
    guard let made else { return CommandAnswer(.noSigningKey) }
    let number = (current.entries.last?.number ?? 0) + 1 + (withdraws ? 0 : current.unreadable.count)
    let signsFrom = withdraws ? set.now : set.now + keys.rules.lead
    let placed = try Self.stored { () throws(SigningKeyProblem) in
      try made.placed(at: number, signsFrom: signsFrom, sealedUnder: keys.ring)
    }
    if withdraws {
      for record in records { try set.remove(record.id) }
    } else if var former = records.first(where: { $0.id == current.entries.last?.record.id }) {
      former.dueAt = placed.signsFrom + keys.purpose.afterlife
      try set.put(former)
    }
    try placed.store(isNew: true, dueAt: set.now, in: &set)
    try take(placed, behind: withdraws ? SigningKeys.Reading() : current, in: &set)
    let withdrawn = withdraws ? records.map(\.id.text).sorted() : []
    note(placed, withdrawn, in: &set)
    return try answer(placed, withdrawn: withdrawn)
  }

  /// Other processes read them within a round of the maintenance.
  private func take(
    _ placed: SigningKeyRecord, behind reading: SigningKeys.Reading, in set: inout WorkingSet
  ) throws(StoreError) {
    let published = try Self.stored { () throws(SigningKeyProblem) in try placed.published() }
    var reading = reading
    reading.entries.append(SigningKeys.Entry(record: placed, published: published))
    set.afterCommit { [keys, reading] in keys.take(reading) }
  }

  private func note(_ placed: SigningKeyRecord, _ withdrawn: [String], in set: inout WorkingSet) {
    set.afterCommit { [logger] in
      logger.warning(
        "the signing keys were rotated by an operator",
        [
          "key": placed.id.text, "signsFrom": placed.signsFrom.rfc3339,
          "withdrawn": withdrawn.isEmpty ? nil : withdrawn.joined(separator: ","),
        ])
    }
  }

  private func answer(_ record: SigningKeyRecord, withdrawn: [String]) throws(StoreError) -> CommandAnswer {
    try CommandAnswer(KeysRotated(key: record.id.text, signsFrom: record.signsFrom, withdrawn: withdrawn))
  }

  private static func stored<Made>(_ make: () throws(SigningKeyProblem) -> Made) throws(StoreError) -> Made {
    do throws(SigningKeyProblem) {
      return try make()
    } catch {
      throw StoreError(.content, "a signing key cannot be made: \(error.message)")
    }
  }
}
