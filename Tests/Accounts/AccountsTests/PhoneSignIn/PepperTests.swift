import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite("A change of the pepper of accounts", .timeLimit(.minutes(10)))
struct PepperTests {
  private static func changed(_ setting: AccountsBench.Setting) throws -> AccountsBench.Setting {
    var setting = setting
    setting.secrets.secrets.hashes = try #require(
      AccountHashes(pepper: SecureRandom.bytes(32), former: setting.secrets.secrets.hashes))
    return setting
  }

  @Test func `A code that is being checked is neither lost nor used twice`() async throws {
    try await AccountsBench.several { setting, start in
      let before = try await start(setting)
      before.coordinator.verifications["v-a"] = .init()
      #expect(try await before.send(before.command("a", session: "v-a"), id: "a") == nil)
      let check = try #require(before.checks.first)
      await before.die()
      let after = try await start(try Self.changed(setting))
      // It comes again, and waits for the check that is under way; so does another one with the code.
      let command = try after.command("a", session: "v-a")
      #expect(try await after.send(command, id: "a") == nil && after.checks.isEmpty)
      let other = try after.command("b", session: "v-a")
      #expect(try await after.send(other, id: "b") == nil && after.checks.isEmpty)
      await after.report(try after.coordinator.answer(check, at: after.clock.now()))
      let answers = try after.replies.map { try after.answer($0, $0.correlationID == "c1" ? "a" : "b") }
      #expect(answers.compactMap(\.idToken).count == 1 && after.coordinator.compared == 1)
      // The tokens again, under the message ID of before.
      let first = answers.first { $0.idToken != nil }
      let id = after.replies.first { $0.correlationID == "c1" } != nil && answers[0].idToken != nil ? "a" : "b"
      let again = try await after.ask(id == "a" ? command : other, id: id)
      #expect(try after.answer(again, id).claims?.sessionID == first?.claims?.sessionID)
      await after.die()
    }
  }

  @Test func `A temporary proof of before is given once more, and signs in once`() async throws {
    try await AccountsBench.several { setting, start in
      let before = try await start(setting)
      _ = try await before.signIn("holder")
      let user = try await before.signUp("user")
      before.coordinator.verifications["v-a"] = .init()
      let link = try before.command("a", session: "v-a", idToken: user.idToken)
      let proof = try #require(try await before.signIn(link, "a").proof)
      await before.die()
      let after = try await start(try Self.changed(setting))
      let same = try after.command("a", session: "v-a", idToken: user.idToken)
      let again = try await after.ask(same, id: "a")
      #expect(try after.answer(again, "a").proof?.reveal() == proof.reveal())
      let signedIn = try await after.signIn(after.command("b", proof: proof), "b")
      #expect(signedIn.idToken != nil && signedIn.error == nil)
      #expect(try await after.error(after.command("c", proof: proof), id: "c").code == .invalidTemporaryProof)
      await after.die()
    }
  }

  @Test func `Commands that were carried out before are the same ones after it`() async throws {
    try await AccountsBench.several { setting, start in
      let before = try await start(setting)
      let first = try await before.signUp("a")
      let after = try await start(try Self.changed(setting))
      #expect(try await after.signUp("a").claims?.sessionID == first.claims?.sessionID)
      // Another change leaves the first pepper behind.
      let last = try await start(try Self.changed(try Self.changed(setting)))
      #expect(try await last.signUp("a").error?.reason == "MESSAGE_ID_REUSED")
    }
  }
}
