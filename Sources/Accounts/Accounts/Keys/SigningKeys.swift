import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Synchronization

/// The keys of a purpose, in memory: what was last read from the store, and could be opened.
final class SigningKeys: Sendable {
  struct Entry: Sendable {
    var record: SigningKeyRecord
    var published: KeysPublished.Key

    var number: Int { record.number }
    var id: String { record.id.text }
  }

  struct Reading: Sendable {
    /// Those that could be opened, the oldest first.
    var entries: [Entry] = []
    var unreadable: [(id: String, problem: String)] = []

    var isLost: Bool { entries.isEmpty && !unreadable.isEmpty }
  }

  let ring: KeyRing
  let rules: SigningKeyRules
  let purpose: SigningKeyPurpose
  let generate: SigningKeyGenerator
  private let instant: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  private struct State {
    var reading = Reading()
    var readAt: ContinuousClock.Instant?
  }

  init(
    ring: KeyRing, rules: SigningKeyRules, purpose: SigningKeyPurpose = .idTokens,
    instant: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    generate: @escaping SigningKeyGenerator = generateSigningKey
  ) {
    self.generate = generate
    self.purpose = purpose
    self.ring = ring
    self.rules = rules
    self.instant = instant
  }

  // MARK: Use

  var isReady: Bool { state.withLock { !$0.reading.entries.isEmpty && !isOld($0) } }

  var reading: Reading { state.withLock { $0.reading } }

  /// Whether the keys were read so long ago that another process may have made one that signs by now. Verifiers
  /// would soon refuse what the former one still signs here.
  var isOld: Bool { state.withLock { isOld($0) } }

  private func isOld(_ state: State) -> Bool {
    state.readAt.map { instant() - $0 > rules.lead } ?? false
  }

  /// The key that signs: the newest whose time has come. Where none has, a clock was set back, and the oldest signs.
  /// None once the last reading is too old.
  func signing(at now: UnixTime) -> SigningKey? {
    state.withLock { state in
      guard !isOld(state) else { return nil }
      let entries = state.reading.entries
      return (entries.last { $0.record.signsFrom <= now } ?? entries.first)?.record.key
    }
  }

  func verifying(_ id: String, at now: UnixTime) -> VerifyingKey? {
    let entries = reading.entries
    guard let index = entries.firstIndex(where: { $0.id == id }), !isRetired(index, of: entries, at: now) else {
      return nil
    }
    return entries[index].record.key.verifying
  }

  func isUnreadable(_ id: String) -> Bool { reading.unreadable.contains { $0.id == id } }

  /// The public keys: those to come, the one that signs, and those whose tokens may still be valid.
  func published(_ entries: [Entry], at now: UnixTime) -> KeysPublished {
    KeysPublished(
      keys: entries.indices.filter { !isRetired($0, of: entries, at: now) }.map { entries[$0].published },
      maxAge: Int(rules.maxAge.components.seconds), publishedAt: now)
  }

  /// - Parameter cookies: the public keys of session cookies.
  func published(_ entries: [Entry], cookies: KeysPublished, at now: UnixTime) -> KeysPublished {
    var all = published(entries, at: now)
    all.cookieKeys = cookies.keys
    return all
  }

  func retirement(_ index: Int, of entries: [Entry]) -> UnixTime? {
    guard entries.indices.contains(index + 1) else { return nil }
    return entries[index + 1].record.signsFrom + purpose.afterlife
  }

  private func isRetired(_ index: Int, of entries: [Entry], at now: UnixTime) -> Bool {
    retirement(index, of: entries).map { $0 <= now } ?? false
  }

  // MARK: Reading

  /// Those that were opened before are not opened again, and are kept when another process has sealed them under a
  /// token key that this one does not have yet.
  func read(_ records: [Record]) -> Reading {
    var known: [String: Entry] = [:]
    for entry in reading.entries { known[entry.id] = entry }
    var new = Reading()
    for record in records {
      let id = record.id.text
      do {
        let sealed = try SigningKeyRecord.Sealed(record).text
        if let entry = known[id], entry.record.sealed == sealed {
          new.entries.append(entry)
        } else {
          let opened = try SigningKeyRecord(record.id, sealed: sealed, ring)
          new.entries.append(Entry(record: opened, published: try opened.published()))
        }
      } catch {
        new.unreadable.append((id, "\(error)"))
        if let entry = known[id] { new.entries.append(entry) }
      }
    }
    new.entries.sort { ($0.number, $0.id) < ($1.number, $1.id) }
    return new
  }

  /// Keys that signed are not given up because the store has lost all of them. Where others that cannot be opened stand
  /// in their place, they were withdrawn.
  func take(_ reading: Reading) {
    let now = instant()
    state.withLock { state in
      let isStoreEmpty = reading.entries.isEmpty && reading.unreadable.isEmpty
      let kept = isStoreEmpty ? state.reading.entries : reading.entries
      state = State(reading: Reading(entries: kept, unreadable: reading.unreadable), readAt: now)
    }
  }
}
