import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
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
    #expect(bench.events("account.deleted").count == 71 && bench.events("account.erased").count == 70)
    #expect(try bench.request(ForgetNumber.self).body.phoneNumber == AccountsBench.number)
    _ = try await bench.signIn()
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
