import CountersignMessages
import CountersignTelemetry
import JobEngine
import RecordStore
import SQLite
import TestSupport
import Testing

@testable import Mail

/// Promises of the list, wherever it is stored.
@Suite struct SuppressionListTests {
  /// Lends two lists in the same place, as two workers have them.
  private func withTwo(
    _ kind: TableKind, _ body: (SuppressionList, SuppressionList) async throws -> Void
  ) async throws {
    try await kind.with(.workers, of: .suppressions) { open in
      let (first, second) = (SuppressionList(try await open()), SuppressionList(try await open()))
      let result: Result<Void, any Error>
      do { result = .success(try await body(first, second)) } catch { result = .failure(error) }
      await first.close()
      await second.close()
      try result.get()
    }
  }

  private func entry(_ address: String, at second: Int64, code: String? = "550 5.1.1") -> Suppression {
    Suppression(
      address: address, since: time + .seconds(second), reason: "RECIPIENT_GONE", providerCode: code,
      jobID: "job-\(second)\0")
  }

  @Test(arguments: TableKind.allCases)
  func `What one worker adds the other finds, until it is lifted`(_ kind: TableKind) async throws {
    try await withTwo(kind) { list, other in
      let address = try #require(MailAddress("Ada@Example.com"))
      #expect(try await list.entry(for: address) == nil)
      try await list.add(entry(address.key, at: 1))
      #expect(try await other.entry(for: address) == entry(address.key, at: 1))
      #expect(try await other.lift(address))
      #expect(try await list.lift(address) == false)
      #expect(try await list.entry(for: address) == nil)
    }
  }

  @Test(arguments: TableKind.allCases)
  func `The first entry of an address stays`(_ kind: TableKind) async throws {
    try await withTwo(kind) { list, other in
      let address = try #require(MailAddress("ada@example.com"))
      try await list.add(entry(address.key, at: 1, code: nil))
      try await other.add(entry(address.key, at: 2))
      #expect(try await list.entry(for: address) == entry(address.key, at: 1, code: nil))
    }
  }

  @Test(arguments: TableKind.allCases)
  func `A job forgets addresses that came before, in any letters`(_ kind: TableKind) async throws {
    try await withTwo(kind) { list, other in
      for (index, name) in ["a", "b", "c"].enumerated() {
        try await list.add(entry("\(name)@example.com", at: Int64(index)))
      }
      let handler = ForgetJobHandler(suppressions: other)
      let job = MailForgetJob(
        addresses: ["A@Example.com", "c@example.com", "unknown@example.com", "none"], knownBefore: time + .seconds(2),
        deadline: time + .seconds(60))
      let message = JobMessage(
        messageID: "j", messageType: MailForgetJob.type, sender: Topology.Users.accounts, receivedAt: time)
      guard case .ready(let forgotten, let facts) = handler.prepare(job, of: message) else {
        Issue.record("the job is not taken")
        return
      }
      let attempt = JobAttempt(
        job: MessageIdentity(sender: "accounts", messageID: "j"), deadline: job.deadline, timeout: .seconds(10),
        startedAt: time)
      #expect(facts.lanes == ForgetJobHandler.lanes.map(\.name))
      for _ in 0..<2 {
        #expect(await handler.perform(forgotten, on: facts.lanes[0], attempt) == .accepted(reference: nil))
      }
      #expect(try await list.entries(limit: 9).map(\.address) == ["c@example.com", "b@example.com"])
      await other.close()
      guard case .retry = await handler.perform(forgotten, on: facts.lanes[0], attempt) else {
        Issue.record("a list that is closed forgets nothing")
        return
      }
    }
  }

  @Test(arguments: [Topology.Users.sender, Topology.Users.service, SenderRule.unnamed])
  func `Others than accounts and operators have nothing forgotten`(sender: String) async throws {
    try await TableKind.sqlite.with(.workers, of: .suppressions) { open in
      let list = SuppressionList(try await open())
      let job = MailForgetJob(addresses: ["a@example.com"], knownBefore: time, deadline: time)
      let message = JobMessage(
        messageID: "j", messageType: MailForgetJob.type, sender: sender, receivedAt: time)
      guard case .refused(let reason, _) = ForgetJobHandler(suppressions: list).prepare(job, of: message) else {
        Issue.record("the job is taken")
        return
      }
      #expect(reason.code == "NOT_ALLOWED")
      await list.close()
    }
  }

  @Test(arguments: [0, MailForgetJob.maxAddresses + 1])
  func `A job has some addresses, and not too many`(count: Int) async throws {
    try await TableKind.sqlite.with(.workers, of: .suppressions) { open in
      let list = SuppressionList(try await open())
      let job = MailForgetJob(
        addresses: Array(repeating: "a@example.com", count: count), knownBefore: time, deadline: time)
      let message = JobMessage(
        messageID: "j", messageType: MailForgetJob.type, sender: Topology.Users.accounts, receivedAt: time)
      guard case .invalid(let problem) = ForgetJobHandler(suppressions: list).prepare(job, of: message) else {
        Issue.record("the job is taken")
        return
      }
      #expect(problem.field == "addresses")
      await list.close()
    }
  }

  @Test(arguments: TableKind.allCases)
  func `Entries are listed, the latest first`(_ kind: TableKind) async throws {
    try await withTwo(kind) { list, _ in
      for second in [2, 3, 1] as [Int64] { try await list.add(entry("a\(second)@example.com", at: second)) }
      #expect(try await list.entries(limit: 2).map(\.address) == ["a3@example.com", "a2@example.com"])
    }
  }
}
