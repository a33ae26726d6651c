import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import RecordStore
import Synchronization
import TestSupport
import Testing

@testable import Accounts

@Suite struct ResetTests {
  @Test func `All accounts of one project go, in more than one transaction`() async throws {
    let inDevelopment = { (setting: inout AccountsBench.Setting) in setting.isDevelopment = true }
    let bench = try await AccountsBench(inDevelopment)
    var accounts: [AccountRecord] = []
    for _ in 0..<70 { accounts.append(try await bench.signIn(number: nil, provider: .anonymous).account) }
    let numbered = try await bench.signIn()
    let other = try await bench.signIn(project: AccountsBench.otherProject)
    let reply = try await bench.ask(ResetAccounts(project: AccountsBench.project), id: "reset")
    #expect(try AccountsReset(json: reply.body).deleted == 71)
    for account in accounts + [numbered.account] {
      #expect(try await bench.find(account) == nil)
      #expect(try await bench.sessions(of: account).isEmpty)
    }
    #expect(try await bench.find(other.account) != nil)
    #expect(bench.events("account.deleted").count == 71 && bench.events("account.erased").count == 71)
    #expect(try bench.request(ForgetNumber.self).body.phoneNumber == AccountsBench.number)
    _ = try await bench.signIn()
  }

  @Test func `It ends when erasures have, those of earlier deletions included`() async throws {
    // Copies of records that the coordinator's answers end, one after another, while the reset waits.
    let pauses = Mutex(0)
    let running = Mutex<(@Sendable (Int) async -> Void)?>(nil)
    let bench = try await AccountsBench { setting in
      setting.isDevelopment = true
      setting.inPause = {
        let number = pauses.withLock { count in
          count += 1
          return count
        }
        await running.withLock { $0 }?(number)
      }
    }
    let user = try await bench.signIn(number: "+16505550124")
    _ = try await bench.delete(bench.idToken(of: user))
    _ = try await bench.signIn()
    let (store, clock, eraser) = (bench.store, bench.clock, bench.parts.deletion.eraser)
    let group = try Erasure.group(ofProject: AccountsBench.project)
    let left = Mutex<[Int]>([])
    running.withLock { running in
      running = { _ in
        let outcome = try? await store.transact(at: clock.now()) { set throws(StoreError) in
          let records = try set.group(group, StoreKeys.GroupPage(limit: 10)).records
          if let first = records.first { try eraser.end(atCoordinator: first, answering: 1, in: &set) }
          return records.count
        }
        if case .stored(let count, _) = outcome { left.withLock { $0.append(count) } }
      }
    }
    let reply = try await bench.ask(ResetAccounts(project: AccountsBench.project), id: "reset")
    #expect(try AccountsReset(json: reply.body).deleted == 1)
    #expect(left.withLock { $0 } == [2, 1])
    #expect(try await bench.look { set throws(StoreError) in try set.group(group).records.isEmpty })
    #expect(bench.metric(#"countersign_account_erasures_total{outcome="kept"}"#) == 0)
  }

  @Test func `Erasures that others do not confirm are given up after a while`() async throws {
    let bench = try await AccountsBench { $0.isDevelopment = true }
    let other = try await bench.signIn(project: AccountsBench.otherProject)
    let deletion = bench.parts.deletion
    try await bench.transact { set throws(StoreError) in
      _ = try deletion.delete(other.account, cause: nil, in: &set)
    }
    for number in 0..<70 { _ = try await bench.signIn(number: "+1650555\(1000 + number)") }
    let began = bench.clock.now()
    _ = try await bench.ask(ResetAccounts(project: AccountsBench.project), id: "reset")
    let erased = try bench.events("account.erased").map { try AccountErased(json: $0.message.body) }
    #expect(erased.count == 70 && erased.allSatisfy { $0.coordinator == .kept })
    #expect(bench.clock.now() - began == .seconds(4))
    let group = try Erasure.group(ofProject: AccountsBench.otherProject)
    #expect(try await bench.look { set throws(StoreError) in try set.group(group).records.count } == 1)
  }

  @Test func `One that has waited deletes nothing`() async throws {
    let inDevelopment = { (setting: inout AccountsBench.Setting) in setting.isDevelopment = true }
    let bench = try await AccountsBench(inDevelopment)
    let message = try bench.message(ResetAccounts(project: AccountsBench.project), id: "reset")
    bench.clock.advance(by: .seconds(60))
    let holder = try await bench.signIn()
    let reply = try await bench.ask(message)
    #expect(try ErrorReply(json: reply.body).error.reason == "COMMAND_TOO_OLD")
    #expect(try await bench.find(holder.account) != nil)
  }

  @Test func `One that arrives again deletes nothing that was made since`() async throws {
    let inDevelopment = { (setting: inout AccountsBench.Setting) in setting.isDevelopment = true }
    let bench = try await AccountsBench(inDevelopment)
    _ = try await bench.signIn()
    let message = try bench.message(ResetAccounts(project: AccountsBench.project), id: "reset")
    let first = try await bench.ask(message)
    let holder = try await bench.signIn()
    let second = try await bench.ask(message)
    #expect(second.body == first.body)
    #expect(try AccountsReset(json: first.body).deleted == 1)
    #expect(try await bench.find(holder.account) != nil)
  }

  @Test func `Elsewhere it is refused, and so is an unknown project`() async throws {
    try await AccountsBench.with { bench in
      let holder = try await bench.signIn()
      #expect(try await bench.error(ResetAccounts(project: AccountsBench.project)).code == .operationNotAllowed)
      #expect(try await bench.find(holder.account) != nil)
    }
    let inDevelopment = { (setting: inout AccountsBench.Setting) in setting.isDevelopment = true }
    let bench = try await AccountsBench(inDevelopment)
    #expect(try await bench.error(ResetAccounts(project: "unknown-project")).code == .projectNotFound)
    let user = try await bench.error(ResetAccounts(project: AccountsBench.project), user: "service")
    #expect(user.code == .operationNotAllowed)
  }
}
