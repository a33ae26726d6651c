import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// `keys.rotate`: makes the next key for ID tokens before its time.
///
/// - Retiring: published now, it signs when verifiers no longer have old keys. A key that is already on its way is the
///   answer.
/// - Withdrawing: it signs at once, and all other key records are deleted, even unreadable ones. Those of session cookies
///   are replaced as well, if there are any: the same secret opens them.
struct RotationOrder: KeyedOrder {
  let fingerprints: Fingerprints
  private let withdraws: Bool
  private let keys: SigningKeys
  private let cookieKeys: SigningKeys
  private let logger: Logger
  /// Made in the stage. Their places and their times to sign are known in the transaction, which may be much later.
  private var made: [SigningKeyPurpose: SigningKeyRecord] = [:]

  init(
    _ command: RotateKeys, _ keys: SigningKeys, cookies: SigningKeys, _ hashes: AccountHashes, _ logger: Logger
  ) {
    withdraws = command.withdraw
    self.keys = keys
    cookieKeys = cookies
    self.logger = logger
    fingerprints = hashes.fingerprints("rotate keys", [withdraws ? "withdraw" : "retire"])
  }

  /// A key takes a tenth of a second and more, and changes nothing: a command that was answered makes one in vain.
  var stage: CommandStage? {
    CommandStage { [self] access throws(StoreError) in
      var order = self
      let now = access.now()
      for ring in withdraws ? [keys, cookieKeys] : [keys] {
        order.made[ring.purpose] = try Self.stored { () throws(SigningKeyProblem) in
          try SigningKeyRecord.make(
            ring.purpose, number: 1, publishedAt: now, signsFrom: now, sealedUnder: ring.ring, by: ring.generate)
        }
      }
      return order
    }
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    withdraws ? try withdraw(in: &set) : try retire(in: &set)
  }

  private func retire(in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    let records = try set.group(keys.purpose.group).records
    let current = keys.read(records)
    // A key that cannot be opened here may be the one that signs elsewhere.
    guard let last = current.entries.last, !current.isLost else { return CommandAnswer(.noSigningKey) }
    if last.record.signsFrom > set.now { return try answer(last.record, withdrawn: []) }
    guard
      let placed = try place(
        at: last.number + 1 + current.unreadable.count, of: keys, signsFrom: set.now + keys.rules.lead)
    else { return CommandAnswer(.noSigningKey) }
    if var former = records.first(where: { $0.id == last.record.id }) {
      former.dueAt = placed.signsFrom + keys.purpose.afterlife
      try set.put(former)
    }
    try store(placed, of: keys, behind: current, in: &set)
    note(placed, [], in: &set)
    return try answer(placed, withdrawn: [])
  }

  private func withdraw(in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    let rings = [keys, cookieKeys]
    let groups = try set.each(rings) { ring throws(StoreError) in try set.group(ring.purpose.group).records }
    var next: SigningKeyRecord?
    for (ring, records) in zip(rings, groups) where ring.purpose == .idTokens || !records.isEmpty {
      let number = (ring.read(records).entries.last?.number ?? 0) + 1
      guard let placed = try place(at: number, of: ring, signsFrom: set.now) else { continue }
      for record in records { try set.remove(record.id) }
      try store(placed, of: ring, behind: SigningKeys.Reading(), in: &set)
      next = next ?? placed
    }
    guard let next else { return CommandAnswer(.noSigningKey) }
    let withdrawn = groups.flatMap { $0.map(\.id.text).sorted() }
    note(next, withdrawn, in: &set)
    return try answer(next, withdrawn: withdrawn)
  }

  private func place(
    at number: Int, of ring: SigningKeys, signsFrom: UnixTime
  ) throws(StoreError) -> SigningKeyRecord? {
    guard let made = made[ring.purpose] else { return nil }
    return try Self.stored { () throws(SigningKeyProblem) in
      try made.placed(at: number, signsFrom: signsFrom, sealedUnder: ring.ring)
    }
  }

  /// Other processes read it within a round of the maintenance.
  private func store(
    _ placed: SigningKeyRecord, of ring: SigningKeys, behind reading: SigningKeys.Reading, in set: inout WorkingSet
  ) throws(StoreError) {
    try placed.store(isNew: true, dueAt: set.now, in: &set)
    let published = try Self.stored { () throws(SigningKeyProblem) in try placed.published() }
    var reading = reading
    reading.entries.append(SigningKeys.Entry(record: placed, published: published))
    set.afterCommit { [reading] in ring.take(reading) }
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
