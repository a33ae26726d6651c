import CommandEngine
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Coordination

@Suite struct VerificationRecordsTests {
  private let begin = UnixTime(seconds: 1_782_907_200)
  private let policy = VerificationPolicy()

  private func make(_ key: VerificationKey) -> PhoneVerification {
    PhoneVerification(
      id: "first", key, region: "US", languageCode: nil,
      code: CodeAtRest(pepperID: [1, 2, 3, 4], seed: [], digest: [UInt8](repeating: 7, count: 32)), at: begin,
      under: policy)
  }

  private func again(_ verification: PhoneVerification) throws -> PhoneVerification {
    let id = try RecordID(stored: VerificationRecords.kind, verification.id)
    return try PhoneVerification(Record(id, body: verification.body(of: id)))
  }

  @Test func `Nothing of a verification is lost, with and without what may be absent`() throws {
    let number = "+14155550123"
    var plain = make(VerificationKey(phoneNumber: number, app: "app", purpose: .signIn))
    #expect(try again(plain) == plain)
    _ = plain.apply(.started, at: begin, under: policy)
    #expect(try again(plain) == plain)

    var full = PhoneVerification(
      id: "first",
      VerificationKey(
        phoneNumber: number, app: "app", purpose: .secondFactorSignIn, subject: "account", requester: [1, 2]),
      region: "+883", languageCode: "pt-BR",
      code: CodeAtRest(
        pepperID: [1, 2, 3, 4], seed: [UInt8](repeating: 0, count: 32), digest: [UInt8](repeating: 7, count: 32)),
      askedLate: true, at: begin, under: policy)
    full.source = [9]
    _ = full.apply(.started, at: begin, under: policy)
    let handle = VerificationHandle(id: "second", requester: [3], isProven: true, at: begin)
    _ = full.apply(
      .joined(handle, sends: true, languageCode: "fr"), at: begin + .seconds(31), under: policy)
    let reason = VerificationFailure(code: "UNKNOWN_NUMBER", detail: "not in service")
    let reports = [
      JobReport(number: 1, outcome: .accepted, lane: "twilio-eu", worker: "w", reference: "SM1", attempts: 2),
      JobReport(number: 2, outcome: .refused, reason: reason),
    ]
    for report in reports { _ = full.apply(.jobFinished(report), at: begin + .seconds(40), under: policy) }
    _ = full.apply(.cancelRequested, through: 2, at: begin + .seconds(50), under: policy)
    for _ in 0..<policy.checksPerCode {
      _ = full.apply(.checkRequested, at: begin + .seconds(60), under: policy)
      _ = full.apply(.codeCompared(matches: false), at: begin + .seconds(60), under: policy)
    }
    #expect(full.state == .failed && full.failure != nil && full.endedAt != nil)
    #expect(try again(full) == full)
  }

  @Test func `A body that is cut short, or of another version, is no verification`() throws {
    let verification = make(VerificationKey(phoneNumber: "+14155550123", app: "app", purpose: .signIn))
    let id = try RecordID(stored: VerificationRecords.kind, "first")
    let body = try verification.body(of: id)
    for bytes in [[], [99], Array(body.dropLast()), Array(body.prefix(20))] {
      let error = #expect(throws: StoreError.self) { try PhoneVerification(Record(id, body: bytes)) }
      #expect(error?.code == .content)
    }
  }

  @Test func `An ended verification gives its number free and is found until its retention is over`() async throws {
    let bench = try await Bench()
    let id = try await bench.start().verificationID
    #expect(try await bench.store.count(VerificationRecords.live) == 1)
    _ = try await bench.ask(CancelVerification(verificationID: id))
    #expect(try await bench.store.count(VerificationRecords.live) == 0)
    bench.clock.advance(by: bench.rules.retention - .seconds(1))
    try await bench.sweep()
    #expect(try await bench.status(id).state == .canceled)
    bench.clock.advance(by: .seconds(1))
    try await bench.sweep()
    #expect(try await bench.count("verification") == 0)
    #expect(try await bench.store.count(VerificationRecords.number) == 0)
  }

  @Test func `Texts that can be no ID are those of no verification`() async throws {
    let bench = try await Bench()
    for id in ["", " ", "é", "a\u{0}b", String(repeating: "x", count: 65), String(repeating: "x", count: 300)] {
      let codes = [
        try await bench.checkError(id, "123456"), try await bench.error(CancelVerification(verificationID: id)).code,
        try await bench.error(GetVerificationStatus(verificationID: id)).code,
      ]
      #expect(codes.allSatisfy { $0 == .invalidSessionInfo })
    }
  }
}
