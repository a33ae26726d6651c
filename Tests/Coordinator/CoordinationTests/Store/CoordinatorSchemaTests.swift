import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import SQLite
import Testing

@testable import Coordination

@Suite("The schema")
struct CoordinatorSchemaTests {
  /// A verification as version 4 of the schema kept it.
  private static let verification = """
    INSERT INTO verification (id, version, state, live, due_at, app, phone_number, region, is_test, language, code,
      created_at, expires_at, resend_after, ended_at, checks, messages, failure_code, failure_detail, timeline)
    VALUES ('v', 3, 'sent', 1, 1782907500000, 'a', '+14155550123', 'US', 0, 'en', ?, 1782907200000, 1782907500000,
      1782907230000, NULL, 1, 'a', NULL, NULL, '')
    """

  @Test("A database of version 4 is carried along")
  func aDatabaseOfVersion4IsCarriedAlong() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "schema-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }  // What is left over is in /tmp.
    let path = directory.appending(path: "coordinator.sqlite").path(percentEncoded: false)
    let code = VerificationCodes(current: try Pepper([UInt8](repeating: 7, count: 32))).keep(
      fixedCode: "123456", for: "v")
    let old = try await Database.open(path: path, migrations: Array(CoordinatorSchema.migrations.prefix(4)))
    try await old.write { session throws(DatabaseError) -> Void in
      try session.execute(Self.verification, [.blob(code.blob)])
    }
    await old.close()
    let new = try await Database.open(path: path, migrations: CoordinatorSchema.migrations)
    let now = UnixTime(seconds: 1_782_907_300)
    let found = try await new.write { session throws(DatabaseError) -> PhoneVerification? in
      let transaction = CoordinatorTransaction(session, at: now, retention: .seconds(60))
      guard var verification = try transaction.verification("v") else { return nil }
      _ = verification.apply(.cancelRequested, at: now, under: VerificationPolicy())
      transaction.set(verification)
      _ = try transaction.flush()
      return verification
    }
    await new.close()
    let verification = try #require(found)
    #expect(verification.purpose == .signIn && verification.subject == nil && verification.requester.isEmpty)
    #expect(verification.handles.isEmpty)
    #expect(verification.state == .canceled && !verification.askedLate && verification.messages == [.accepted])
  }
}
