import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

@Suite struct RevocationRecordsTests {
  private let now = UnixTime(seconds: 1_000_000)
  private let policy = RevocationPolicy()
  private let token = TokenHash(current: [UInt8](repeating: 1, count: 32))
  private var records: RevocationRecords { RevocationRecords(policy: policy) }

  private func revocation(
    _ id: String, _ token: TokenHash? = nil, notice: StartRevocation.Notice? = nil
  ) -> Revocation {
    var revocation = Revocation(
      id: id, app: "a", tokenHash: (token ?? self.token).current, notice: notice, at: now, under: policy)
    _ = revocation.apply(.started, at: now, under: policy)
    return revocation
  }

  private func report(_ outcome: JobReport.Outcome, _ reason: String? = nil) -> JobReport {
    JobReport(
      number: 1, outcome: outcome, lane: "apple",
      reason: reason.map { VerificationFailure(code: $0, detail: "because") })
  }

  private func add(_ revocation: Revocation, of token: TokenHash, to store: MemoryUsage) throws {
    try store.transact(at: now) { set throws(StoreError) in try records.add(revocation, of: token, in: &set) }
  }

  private func found(_ token: TokenHash, in store: MemoryUsage) throws -> Revocation? {
    try store.transact(at: now) { set throws(StoreError) in try records.revocation(ofToken: token, in: set) }
  }

  private func change(
    _ id: String, in store: MemoryUsage, _ body: (inout Revocation) -> Void = { _ in }
  ) throws -> Revocation? {
    try store.transact(at: now) { set throws(StoreError) in
      guard var revocation = try records.revocation(id, in: set) else { return nil }
      body(&revocation)
      try records.put(revocation, in: &set)
      return revocation
    }
  }

  private func record(_ id: String, in store: MemoryUsage) throws -> Record {
    let id = try #require(RecordID(RevocationRecords.kind, id))
    return try #require(store.records[id])
  }

  @Test func `Everything survives being stored`() throws {
    let store = MemoryUsage()
    let notice = StartRevocation.Notice(email: "a@example.com", languageCode: "fr", template: "t")
    let begun = revocation("o", notice: notice)
    try add(begun, of: token, to: store)
    #expect(try found(token, in: store) == begun)
    var changed = begun
    _ = changed.apply(.revokeFinished(report(.refused, "INVALID_GRANT")), at: now + .seconds(1), under: policy)
    #expect(changed.endedAt != nil && changed.failure?.detail == "because")
    #expect(try change("o", in: store) { $0 = changed } == changed)
    #expect(try change("o", in: store) == changed)
    #expect(try change("nobody", in: store) == nil)
    for impossible in ["", "ö", String(repeating: "a", count: 200)] {
      #expect(try change(impossible, in: store) == nil)
    }
  }

  @Test func `It is due at its deadline, then after its retention, and may then be deleted unread`() throws {
    let store = MemoryUsage()
    let begun = revocation("o")
    try add(begun, of: token, to: store)
    let deadline = begun.expiresAt + RevocationPolicy.grace
    #expect(try record("o", in: store).dueAt == deadline)
    #expect(try record("o", in: store).discardAt == deadline + policy.retention)
    let end = now + .seconds(5)
    _ = try change("o", in: store) {
      _ = $0.apply(.revokeFinished(report(.accepted)), at: end, under: policy)
    }
    #expect(try record("o", in: store).dueAt == end + policy.retention)
    #expect(try record("o", in: store).discardAt == end + policy.retention)
  }

  @Test func `The latest revocation of a token has its key, and a later report on a former one does not take it back`()
    throws
  {
    let store = MemoryUsage()
    try add(revocation("1"), of: token, to: store)
    _ = try change("1", in: store) {
      _ = $0.apply(.revokeFinished(report(.unknown)), at: now, under: policy)
    }
    try add(revocation("2"), of: token, to: store)
    #expect(try found(token, in: store)?.id == "2")
    let corrected = try change("1", in: store) {
      _ = $0.apply(.revokeFinished(report(.accepted)), at: now, under: policy)
    }
    #expect(corrected?.ending == .revoked)
    #expect(try found(token, in: store)?.id == "2")
    #expect(try record("1", in: store).uniqueKeys.isEmpty)
  }

  @Test func `A pepper is changed: the revocation of the token is found under the former hash, and taken over from`()
    throws
  {
    let store = MemoryUsage()
    let later = TokenHash(current: [UInt8](repeating: 2, count: 32), earlier: token.current)
    try add(revocation("1"), of: token, to: store)
    #expect(try found(later, in: store)?.id == "1")
    try add(revocation("2", later), of: later, to: store)
    #expect(try found(later, in: store)?.id == "2")
    #expect(try record("1", in: store).uniqueKeys.isEmpty)
  }

  @Test func `A body that another version wrote is told, and is no revocation`() throws {
    let id = try #require(RecordID(RevocationRecords.kind, "o"))
    for body in [[], [9], [1], [1, 1]] as [[UInt8]] {
      let error = #expect(throws: StoreError.self) { try Revocation(Record(id, body: body)) }
      #expect(error?.fault == .content)
    }
  }

  private func flow(_ current: UInt8 = 7, previous: UInt8? = nil) throws -> RevocationFlow {
    let rules = Bench.rules { $0.apps["a"] = AppProfile(id: "a", name: "A", verification: .trusted) }
    let hashes = KeyedHashes(
      current: try Pepper([UInt8](repeating: current, count: 32)),
      previous: try previous.map { try Pepper([UInt8](repeating: $0, count: 32)) })
    let keys = try KeyRing(sealing: SymmetricKey(id: "k", bytes: [UInt8](repeating: 3, count: 32)))
    return RevocationFlow(
      rules, hashes: hashes, keys: keys, limits: RateLimits(limits: Limits(), subjects: hashes.subjects),
      metrics: CoordinatorMetrics(MetricsRegistry()))
  }

  private func order(_ flow: RevocationFlow) throws -> any CommandOrder {
    let kind = try #require(flow.commands.first)
    let command = StartRevocation(app: "a", token: AppleToken(.refreshToken, SecretField(Secret("t"))))
    let envelope = Envelope(type: StartRevocation.type, messageID: "m")
    return try kind.read(envelope, try command.json(), now, [:])
  }

  @Test("An order has the fingerprint that it always had, also under the former pepper")
  func fingerprint() throws {
    func fingerprint(_ pepper: UInt8) throws -> [UInt8] {
      let hash = KeyedHashes(current: try Pepper([UInt8](repeating: pepper, count: 32)))
        .hash(appleToken: Secret("t"), app: "a", subject: nil)
      return SHA256.hash(Array("revocation.start.v1\u{0}a\u{0}\(Base64URL.encode(hash.current))".utf8))
    }
    let first = try order(try flow())
    #expect(first.fingerprint == (try fingerprint(7)))
    #expect(first.formerFingerprints().isEmpty)
    let later = try order(try flow(8, previous: 7))
    #expect(later.fingerprint == (try fingerprint(8)))
    #expect(later.formerFingerprints() == [try fingerprint(7)])
  }

  @Test func `A job that no queue took expires, and those of others are none of its business`() throws {
    let flow = try flow()
    let notTaken = JobReport(number: 1, outcome: .expired, reason: .notTaken)
    let events = [RevocationEvent.revokeFinished(notTaken), .noticeFinished(notTaken)]
    let results = flow.reports.filter { $0.type.name.hasSuffix(".result") }
    #expect(results.count == events.count)
    for (index, (kind, job)) in zip(results, ["o.revoke.1", "o.notice.1"]).enumerated() {
      let report = try #require(kind.dropped?(job) as? RevocationReport)
      #expect(report.id == "o" && report.event == events[index])
      for other in ["o.push.1", "o.revoke.2", ".revoke.1", "somebody-elses"] { #expect(kind.dropped?(other) == nil) }
    }
  }
}
