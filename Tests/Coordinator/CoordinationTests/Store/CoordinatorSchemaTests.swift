import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import SQLite
import Testing

@testable import CommandEngine
@testable import Coordination

@Suite struct CoordinatorSchemaTests {
  private static let now = UnixTime(seconds: 1_782_907_300)
  private static let codes = VerificationCodes(current: pepper)
  private static let pepper: Pepper = {
    do { return try Pepper([UInt8](repeating: 7, count: 32)) } catch { preconditionFailure("\(error)") }
  }()

  /// Rows as version 4 of the schema kept them.
  private static var rows: [Statement] {
    [
      Statement(
        """
        INSERT INTO verification (id, version, state, live, due_at, app, phone_number, region, is_test, language, code,
          created_at, expires_at, resend_after, ended_at, checks, messages, failure_code, failure_detail, timeline)
        VALUES ('v', 3, 'sent', 1, 1782907500000, 'a', '+14155550123', 'US', 0, 'en', ?, 1782907200000, 1782907500000,
          1782907230000, NULL, 1, 'a', NULL, NULL, '')
        """, [.blob(codes.keep(fixedCode: "123456", for: "v").blob)]),
      Statement(
        """
        INSERT INTO inbox (message_id, fingerprint, received_at, reply_type, reply)
        VALUES ('m', x'01', 1782907299000, 'error.v1', x'7B7D')
        """, []),
      Statement(
        "INSERT INTO usage (subject, counts, expires_at) VALUES ('rUS', 'd:86400000=1782864000000*7', 1782950400000)",
        []),
      Statement(
        "INSERT INTO usage (subject, counts, expires_at) VALUES ('n+14155550123', 's:600000=1782907200000*1', 1782907800000)",
        []),
      Statement("INSERT INTO conversion_outage (since, until) VALUES (1782907200000, 1782907210000)", []),
    ]
  }

  /// Opens a file of version 4 with the program of now, and carries it over.
  private func with(_ body: (SQLiteStore, Conversions, CoordinatorRules) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "schema-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }  // What is left over is in /tmp.
    let path = directory.appending(path: "coordinator.sqlite").path(percentEncoded: false)
    let old = try await Database.open(path: path, migrations: Array(CoordinatorSchema.migrations.prefix(4)))
    try await old.write { session throws(DatabaseError) -> Void in
      for row in Self.rows { try session.execute(row.sql, row.values) }
    }
    await old.close()
    let new = try await Database.open(path: path, migrations: CoordinatorSchema.migrations)
    let store = try await SQLiteStore(in: new)
    let (rules, registry) = (Bench.rules(), MetricsRegistry())
    let logger = Logger(label: "test", sink: MemorySink())
    let conversions = Conversions(rules, metrics: ConversionMetrics(registry), logger: logger)
    let carrying = CarryOver(rules, conversions, logger, EngineMetrics(registry))
    #expect(try await carrying.run(store, clock: ManualClock(Self.now)) == [:])
    try await body(store, conversions, rules)
    await store.close()
    await new.close()
  }

  @Test func `A verification of version 4 is carried along, and its code is checked`() async throws {
    try await with { store, conversions, rules in
      let records = VerificationRecords(rules, conversions: conversions)
      var keys = StoreKeys()
      try records.addKeys(ofID: "v", to: &keys)
      let live = VerificationKey(phoneNumber: "+14155550123", app: "a", purpose: .signIn)
      try records.addKeys(ofLive: live, to: &keys)
      let set = try await store.read(StoreLoad(keys), at: Self.now)
      let verification = try #require(try records.found("v", in: set)).verification
      #expect(try records.live(VerificationRecords.key(ofLive: live), in: set) == verification)
      #expect(verification.purpose == .signIn && verification.subject == nil && verification.requester.isEmpty)
      #expect(verification.handles.isEmpty && verification.source.isEmpty && verification.checks == 1)
      #expect(verification.state == .sent && !verification.askedLate && verification.messages == [.accepted])
      #expect(Self.codes.matches("123456", verification.code, for: "v"))
      var canceled = verification
      _ = canceled.apply(.cancelRequested, at: Self.now, under: VerificationPolicy())
      #expect(canceled.state == .canceled)
    }
  }

  @Test
  func `Of the counts of version 4 those of regions stay, its outages excuse, and its replies without senders go`()
    async throws
  {
    try await with { store, conversions, _ in
      var keys = StoreKeys()
      let region = try CounterKey(limit: "d", subject: "rUS")
      keys.add(counter: region, since: 0)
      try conversions.records.addOutages(to: &keys)
      let set = try await store.read(StoreLoad(keys), at: Self.now)
      #expect(try set.cells(of: region) == [CounterCell(slot: 1_782_864_000_000, count: 7)])
      #expect(try conversions.records.outages(in: set).map(\.until.seconds) == [1_782_907_210])
      let rows = try await store.look { session throws(StoreError) in
        try session.query(
          "SELECT (SELECT count(*) FROM store_inbox), (SELECT count(*) FROM store_counter)", []
        ) { ($0.int(0), $0.int(1)) }
      }
      #expect(rows.map { [$0.0, $0.1] } == [[0, 1]])
    }
  }
}
