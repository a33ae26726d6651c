import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite struct AnonymousEndTests {
  private static let unusedFor = SessionRules().unusedFor

  private func signUp(_ bench: AccountsBench) async throws -> AccountRecord {
    let id = bench.nextID()
    let reply = try await bench.ask(
      SignUp(project: AccountsBench.project, replyKey: bench.replyKey.publicKey.jwk), id: id)
    return try #require(try await bench.find(AccountSignedIn(json: reply.body).localID))
  }

  private func tidy(_ bench: AccountsBench) async throws -> [String] {
    _ = bench.sink.takePublished()
    await bench.maintenance.tidy()
    await bench.maintenance.publishLeftovers()
    return try bench.sink.published.filter { $0.routingKey == AccountDeleted.routingKey }
      .map { try AccountDeleted(json: $0.message.body).localID }
  }

  private func use(_ account: AccountRecord, _ bench: AccountsBench) async throws {
    try await bench.transact { [sessions = bench.parts.sessions] set throws(StoreError) in
      guard let found = try AccountRecord.find(account.localID, project: account.project, in: set) else { return }
      for record in try set.group(SessionRecord.group(ofAccount: account.id)).records {
        _ = try sessions.noteUse(of: SessionRecord(record), found, in: &set)
      }
    }
  }

  @Test func `An anonymous account goes with its last session, and services are told`() async throws {
    let bench = try await AccountsBench()
    let account = try await signUp(bench)
    bench.clock.advance(by: Self.unusedFor - .milliseconds(1))
    #expect(try await tidy(bench).isEmpty)
    #expect(try await bench.find(account) != nil)
    bench.clock.advance(by: .milliseconds(1))
    #expect(try await tidy(bench) == [account.localID])
    let (found, sessions) = (try await bench.find(account), try await bench.sessions(of: account))
    #expect(found == nil && sessions.isEmpty)
    #expect(bench.registry.render().contains("countersign_anonymous_accounts_ended_total 1"))
    #expect(try await tidy(bench).isEmpty)
  }

  @Test func `As long as its session is used it stays, and ends once that was unused`() async throws {
    let bench = try await AccountsBench()
    let account = try await signUp(bench)
    bench.clock.advance(by: Self.unusedFor - .seconds(86_400))
    try await use(account, bench)
    bench.clock.advance(by: .seconds(86_400))
    #expect(try await tidy(bench).isEmpty)
    #expect(try await bench.find(account) != nil)
    bench.clock.advance(by: Self.unusedFor - .seconds(86_400))
    #expect(try await tidy(bench) == [account.localID])
  }

  @Test func `With a way to sign in it stays, also when that was taken off again`() async throws {
    let bench = try await AccountsBench()
    let linked = try await signUp(bench)
    try await bench.change(linked) { account, _ in
      account.phoneNumber = AccountsBench.number
      account.isAnonymous = false
    }
    let unlinked = try await bench.signIn(number: "+16505550124").account
    try await bench.change(unlinked) { account, _ in account.phoneNumber = nil }
    bench.clock.advance(by: Self.unusedFor + .seconds(86_400))
    #expect(try await tidy(bench).isEmpty)
    for account in [linked, unlinked] { #expect(try await bench.find(account) != nil) }
  }
}
