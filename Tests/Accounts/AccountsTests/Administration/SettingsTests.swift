import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite struct SettingsTests {
  @Test func `Settings of an administrator go before the file's, and addresses that are shared keep a switch`()
    async throws
  {
    let bench = try await AccountsBench()
    #expect(try ProjectSettingsFound(json: try await bench.settings().body).allowsDuplicateEmails == false)
    let changed = try await bench.settings { $0.allowsDuplicateEmails = true }
    #expect(try ProjectSettingsFound(json: changed.body).allowsDuplicateEmails)
    for localID in ["a", "b"] {
      _ = try await bench.create(UserFields(localID: localID))
      let made = try #require(try await bench.find(localID))
      try await bench.change(made) { account, _ in
        var identity = LinkedIdentity(provider: "google.com", subject: account.localID, linkedAt: account.createdAt)
        (identity.email, identity.isEmailVerified) = ("ada@example.com", true)
        account.identities = [identity]
      }
    }
    let refused = try await bench.settings { $0.allowsDuplicateEmails = false }
    let error = try ErrorReply(json: refused.body).error
    #expect(error.reason == "ADDRESSES_SHARED")
    #expect(error.message.hasSuffix("a, b") || error.message.hasSuffix("b, a"))
    #expect(try AccountsRemoved(json: try await bench.remove(["b"], isForced: true).body).refused.isEmpty)
    let switched = try await bench.settings { $0.allowsDuplicateEmails = false }
    #expect(try ProjectSettingsFound(json: switched.body).allowsDuplicateEmails == false)
  }

  @Test(arguments: [false, true])
  func `Addresses of identities that were made with duplicates are theirs alone after the switch, or a crash in it`(
    isCrashed: Bool
  ) async throws {
    let bench = try await AccountsBench()
    bench.usePasswords()
    _ = try await bench.settings { $0.allowsDuplicateEmails = true }
    let email = "ada@example.com"
    let user = try await bench.signIn(at: "google.com", FakeProvider.Token("g", email: email))
    _ = try await bench.signIn(at: "google.com", FakeProvider.Token("h", email: "h@privaterelay.appleid.com"))
    _ = try await bench.signIn(at: "facebook.com", FakeProvider.Token("f", email: "eve@example.com"))
    if isCrashed {
      let project = try #require(bench.parts.rules.projects.current[AccountsBench.project])
      let half = ProjectSettings.Changes(allowsDuplicateEmails: false, isTakingAddresses: true)
      try await bench.transact { set throws(StoreError) in _ = try ProjectSettings.change(project, half, in: &set) }
      _ = try await bench.settings { $0.protectsAddresses = true }
    }
    #expect(try code(try await bench.settings { $0.allowsDuplicateEmails = false }) == nil)
    for taken in [email, "Ada@Example.com"] {
      #expect(try await bench.signUp(email: taken).error?.code == .emailExists)
    }
    let other = try await bench.signIn(at: "apple.com", FakeProvider.Token("a", email: email))
    #expect(other.reply.localID == user.reply.localID)
    for free in ["h@privaterelay.appleid.com", "eve@example.com"] {
      #expect(try await bench.signUp(email: free).reply.isNewUser == true)
    }
  }

  @Test func `A switch that was answered changes nothing when it arrives again, nor does another under its ID`()
    async throws
  {
    let bench = try await AccountsBench()
    _ = try await bench.settings { $0.allowsDuplicateEmails = true }
    let first = try await bench.settings(id: "switch") { $0.allowsDuplicateEmails = false }
    _ = try await bench.settings(id: "other") { $0.allowsDuplicateEmails = true }
    let again = try await bench.settings(id: "switch") { $0.allowsDuplicateEmails = false }
    #expect(again.body == first.body)
    let reused = try await bench.settings(id: "other") { $0.allowsDuplicateEmails = false }
    #expect(try ErrorReply(json: reused.body).error.reason == "MESSAGE_ID_REUSED")
    #expect(try ProjectSettingsFound(json: try await bench.settings().body).allowsDuplicateEmails)
  }

  @Test(arguments: [false, true])
  func `A switch that is cut off says that it goes on, and does so when it is repeated`(
    isAddressTaken: Bool
  ) async throws {
    let bench = try await AccountsBench()
    bench.usePasswords()
    _ = try await bench.settings { $0.allowsDuplicateEmails = true }
    let email = "ada@example.com"
    _ = try await bench.signIn(at: "google.com", FakeProvider.Token("g", email: email))
    bench.store.afterCommit { [store = bench.store] in
      store.afterCommit(nil)
      store.fail(.unavailable, .read, times: 1)
    }
    let cutOff = try await bench.settings(id: "switch") { $0.allowsDuplicateEmails = false }
    let error = try ErrorReply(json: cutOff.body).error
    #expect(error.reason == "UNFINISHED" && error.retryAfter != nil)
    #expect(try ProjectSettingsFound(json: try await bench.settings().body).allowsDuplicateEmails == false)
    // The walk has not reached the identity whose address that is.
    if isAddressTaken { #expect(try await bench.signUp(email: email).reply.isNewUser == true) }
    #expect(try code(try await bench.settings(id: "switch") { $0.allowsDuplicateEmails = false }) == nil)
    #expect(try await bench.signUp(email: email).error?.code == .emailExists)
  }

  @Test func `A switch is repeated when another has allowed duplicates since its walk`() async throws {
    let bench = try await AccountsBench()
    let project = try #require(bench.parts.rules.projects.current[AccountsBench.project])
    _ = try await bench.settings { $0.allowsDuplicateEmails = true }
    bench.store.afterCommit { [store = bench.store, now = bench.clock.now()] in
      store.afterCommit(nil)
      let allowed = ProjectSettings.Changes(allowsDuplicateEmails: true)
      // A failure shows below.
      _ = try? await store.transact(StoreKeys(), at: now, settling: OutboxSettlement()) { set throws(StoreError) in
        _ = try ProjectSettings.change(project, allowed, in: &set)
      }
    }
    let refused = try await bench.settings(id: "switch") { $0.allowsDuplicateEmails = false }
    #expect(try ErrorReply(json: refused.body).error.reason == "UNFINISHED")
    #expect(try ProjectSettingsFound(json: try await bench.settings().body).allowsDuplicateEmails)
    #expect(try code(try await bench.settings(id: "switch") { $0.allowsDuplicateEmails = false }) == nil)
    #expect(try ProjectSettingsFound(json: try await bench.settings().body).allowsDuplicateEmails == false)
  }
}
