import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import JobEngine
import Testing

@testable import SMS

@Suite struct ReportOriginsTests {
  private func withOrigins(_ body: (ReportOrigins, any Ledger) async throws -> Void) async throws {
    let path = FileManager.default.temporaryDirectory.path + "/origins-\(UInt64.random(in: 0 ... .max)).sqlite"
    defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) } }
    let ledger = try await SQLiteLedger.open(path: path)
    let log = ThrottledLog(Logger(label: "test", sink: NoLog()))
    try await body(ReportOrigins(ledger: ledger, logger: log), ledger)
    await ledger.close()
  }

  private func receipt(jobID: String? = nil, reference: String = "m1") -> SessionReport {
    var receipt = SessionReport(lane: "s", reference: reference, state: .delivered, at: Sample.now)
    receipt.job = jobID.map { MessageIdentity(key: $0) }
    receipt.correlationID = jobID.map { "c-" + $0 }
    return receipt
  }

  private func settle(_ ledger: any Ledger, _ id: String, correlationID: String?) async throws {
    var claim = LedgerClaim(
      messageID: id, token: 1, lane: "s", times: .init(now: Sample.now, leaseUntil: Sample.now + .seconds(20)))
    claim.match = LedgerMatch(lane: "s", reference: "m1", correlationID: correlationID)
    _ = try await ledger.write([.settle(claim, result: [1], at: Sample.now)]).map { try $0.get() }
  }

  @Test func `The session is asked first and the ledger second`() async throws {
    try await withOrigins { origins, ledger in
      #expect(try await origins.subject(of: receipt()) == nil)
      try await settle(ledger, "job-1", correlationID: "c-1")
      #expect(
        try await origins.subject(of: receipt()) == .init(job: MessageIdentity(key: "job-1"), correlationID: "c-1"))
      #expect(
        try await origins.subject(of: receipt(jobID: "job-2"))
          == .init(job: MessageIdentity(key: "job-2"), correlationID: "c-job-2"))
      #expect(try await origins.subject(of: receipt(reference: "m2")) == nil)
    }
  }

  private struct BusyLedger: Ledger {
    static let error = StoreError(.busy, "busy")

    var remembers: Bool { true }
    func write(_ entries: [LedgerEntry]) async -> [Result<LedgerAnswer, StoreError>] {
      entries.map { _ in .failure(Self.error) }
    }
    func job(matching match: LedgerMatch) async throws(StoreError) -> LedgerMatchedJob? { throw Self.error }
    func purge(at time: UnixTime, from first: Int64, limit: Int) async throws(StoreError) -> LedgerPurgeStep {
      throw Self.error
    }
    func close() async {}
  }

  @Test func `A receipt that a busy ledger cannot place comes again; one that the session can does not wait for it`()
    async throws
  {
    let origins = ReportOrigins(ledger: BusyLedger(), logger: ThrottledLog(Logger(label: "test", sink: NoLog())))
    await #expect(throws: StoreError.self) { _ = try await origins.subject(of: receipt()) }
    #expect(try await origins.subject(of: receipt(jobID: "job-2"))?.job.messageID == "job-2")
  }

  @Test func `A ledger that never can be read keeps no receipt back`() async throws {
    try await withOrigins { origins, ledger in
      try await settle(ledger, "job-1", correlationID: nil)
      await ledger.close()
      #expect(try await origins.subject(of: receipt()) == nil)
    }
  }
}
