import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite struct SessionsTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  @Test func `One more than a hundred ends the oldest`() async throws {
    let holder = try await bench.signIn()
    let sessions = bench.parts.sessions
    for _ in 1..<SessionRules.maxPerAccount {
      bench.clock.advance(by: .seconds(1))
      try await bench.change(holder.account) { account, set throws(StoreError) in
        _ = try sessions.start(for: &account, by: .phone, RandomValues(), in: &set)
      }
    }
    var stored = try await bench.sessions(of: holder.account)
    #expect(stored.count == 100 && stored.contains { $0.id == holder.session.id })
    bench.clock.advance(by: .seconds(1))
    try await bench.change(holder.account) { account, set throws(StoreError) in
      _ = try sessions.start(for: &account, by: .phone, RandomValues(), in: &set)
    }
    stored = try await bench.sessions(of: holder.account)
    #expect(stored.count == 100 && !stored.contains { $0.id == holder.session.id })
    #expect(stored.contains { $0.authTime == bench.clock.now() })
    #expect(try await bench.find(holder.account)?.lastLoginAt == bench.clock.now())
  }

  @Test func `The maintenance deletes sessions that were not refreshed for half a year`() async throws {
    let holder = try await bench.signIn()
    bench.clock.advance(by: .seconds(180 * 86_400) - .seconds(1))
    await bench.maintenance.tidy()
    #expect(try await bench.sessions(of: holder.account).count == 1)
    bench.clock.advance(by: .seconds(1))
    await bench.maintenance.tidy()
    #expect(try await bench.sessions(of: holder.account).isEmpty)
    #expect(try await bench.find(holder.account) != nil)
  }

  @Test func `A new sign-in after the end of all sessions counts, in the same moment, too`() async throws {
    let holder = try await bench.signIn()
    let sessions = bench.parts.sessions
    try await bench.change(holder.account) { account, set throws(StoreError) in
      try sessions.endAll(of: &account, in: &set)
      _ = try sessions.start(for: &account, by: .phone, RandomValues(), in: &set)
    }
    let stored = try await bench.sessions(of: holder.account)
    #expect(stored.count == 1 && stored.first?.id != holder.session.id)
    let account = try #require(try await bench.find(holder.account))
    #expect(stored.first?.isOver(at: bench.clock.now(), of: account, bench.parts.rules.sessions) == false)
  }

  @Test func `A deleted account's number is free, and a number has one account in a project`() async throws {
    let holder = try await bench.signIn()
    _ = try await bench.signIn(project: AccountsBench.otherProject)
    await #expect(throws: (any Error).self) { _ = try await bench.signIn() }
    let sessions = bench.parts.sessions
    try await bench.change(holder.account) { account, set throws(StoreError) in
      try sessions.delete(account, in: &set)
    }
    #expect(try await bench.sessions(of: holder.account).isEmpty)
    let next = try await bench.signIn()
    #expect(next.account.localID != holder.account.localID && next.account.localID.utf8.count == 28)
  }

  @Test func `Each refresh of a batch is answered`() async throws {
    let holder = try await bench.signIn()
    let token = bench.refreshToken(of: holder)
    func batch(_ count: Int) throws -> [Message] {
      try (0..<count).map { _ in
        let id = bench.nextID()
        return try bench.message(
          RefreshSession(
            project: AccountsBench.project, refreshToken: try bench.sealed(token, RefreshSession.type, id: id),
            replyKey: bench.replyKey.publicKey.jwk), id: id)
      }
    }
    await bench.deliver(batch: try batch(1))
    let messages = try batch(256)
    await bench.deliver(batch: messages)
    #expect(bench.sink.published.filter { $0.exchange.isEmpty }.count == 256)
  }
}
