import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Signing in with a phone number", .timeLimit(.minutes(10)))
struct PhoneSignInTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  @Test func `A new number makes an account, and signs in to it again`() async throws {
    let first = try await bench.signIn("a")
    #expect(first.reply.isNewUser == true && first.reply.phoneNumber == AccountsBench.number)
    #expect(first.reply.tokens?.expiresIn == 3600)
    #expect(first.claims?.localID == first.reply.localID && first.ways?.provider == "phone")
    #expect(bench.events("account.created").count == 1)
    let second = try await bench.signIn("b")
    #expect(second.reply.isNewUser == false && second.reply.localID == first.reply.localID)
    #expect(second.claims?.sessionID != first.claims?.sessionID)
    #expect(bench.events("account.created").isEmpty)
  }

  @Test func `The same message gets tokens of the same session; the code is used for any other`() async throws {
    let first = try await bench.signIn("a")
    let command = try bench.command("a", session: "v-a")
    let again = try bench.answer(try await bench.ask(command, id: "a"), "a")
    #expect(bench.checks.isEmpty)
    #expect(again.reply.localID == first.reply.localID && again.reply.isNewUser == true)
    #expect(again.claims?.sessionID == first.claims?.sessionID)
    #expect(again.refreshToken?.reveal() == first.refreshToken?.reveal())
    let other = try await bench.signIn(bench.command("b", session: "v-a"), "b")
    #expect(other.error?.code == .sessionExpired && other.error?.reason == "CODE_USED")
    // A wrong code does not learn that somebody has signed in.
    let wrong = try await bench.signIn(bench.command("c", session: "v-a", code: "000000"), "c")
    #expect(wrong.error?.code == .sessionExpired && wrong.error?.reason == nil)
    // The session is over with its account.
    _ = try await bench.delete(try #require(first.idToken))
    let gone = try await bench.error(command, id: "a")
    #expect(gone.code == .userNotFound)
  }

  @Test func `The coordinator's refusals are passed on, and one wrong code counts once`() async throws {
    let wrong = try await bench.signIn(bench.command("a", code: "000000"), "a")
    #expect(wrong.error?.code == .invalidCode && wrong.error?.attemptsLeft == 4)
    let again = try await bench.signIn(bench.command("b", code: "000000"), "b")
    #expect(again.error?.attemptsLeft == 4 && bench.coordinator.compared == 1)
    let unknown = try await bench.signIn(bench.command("c", session: "v2"), "c")
    #expect(unknown.error?.code == .invalidSessionInfo && unknown.error?.field == "sessionInfo")
    let other = try await bench.signIn(bench.command("d", app: "com.example.other"), "d")
    #expect(other.error?.code == .invalidSessionInfo)
    #expect(try await bench.signIn(bench.command("e"), "e").reply.isNewUser == true)
  }

  @Test func `A check that breaks the coordinator's contract is a failure of ours`() {
    let error = APIError(refusalOfCheck: APIError(.invalidArgument, "code is sealed", field: "code"))
    #expect(error.code == .internalError)
    let limited = APIError(refusalOfCheck: APIError(.tooManyAttempts, "later", retryAfter: 7))
    #expect(limited.code == .tooManyAttempts && limited.retryAfter == 7)
  }

  // MARK: Several commands

  @Test func `Two commands with one code share a check: the first gets the session`() async throws {
    let messages = try ["a", "b"].map { try bench.message(bench.command($0), id: $0) }
    await bench.deliver(batch: messages)
    #expect(bench.checks.count == 1 && bench.replies.isEmpty)
    await bench.report(try bench.coordinator.answer(try #require(bench.checks.first), at: bench.clock.now()))
    #expect(bench.replies.map(\.correlationID) == ["c1", "c2"])
    let first = try bench.answer(try #require(bench.replies.first), "a")
    let second = try bench.answer(try #require(bench.replies.last), "b")
    #expect(first.reply.isNewUser == true && second.error?.reason == "CODE_USED")
  }

  @Test func `At most eight commands wait for one check`() async throws {
    for index in 0..<8 { #expect(try await bench.send(bench.command("w\(index)"), id: "w\(index)") == nil) }
    let ninth = try await bench.error(bench.command("x"), id: "x")
    #expect(ninth.code == .tooManyAttempts && ninth.retryAfter == 15)
    // One that arrives again still waits, at its newest address.
    #expect(try await bench.send(bench.command("w0"), id: "w0") == nil)
    #expect(bench.checks.isEmpty)
  }

  @Test func `Two sign-ins of one new number at the same time make one account`() async throws {
    var checks: [Delivery] = []
    for id in ["a", "b"] {
      bench.coordinator.verifications["v-\(id)"] = .init()
      #expect(try await bench.send(bench.command(id, session: "v-\(id)"), id: id) == nil)
      checks.append(try bench.coordinator.answer(try #require(bench.checks.first), at: bench.clock.now()))
    }
    await bench.report(checks[0], checks[1])
    #expect(bench.events("account.created").count == 1)
    let first = try bench.answer(try #require(bench.replies.first), "a")
    let second = try bench.answer(try #require(bench.replies.last), "b")
    #expect(first.reply.localID == second.reply.localID)
    #expect(first.reply.isNewUser == true && second.reply.isNewUser == false)
  }

  // MARK: Crashes and outages

  @Test func `Killed before the check or before the answer went out: the next process goes on`() async throws {
    try await AccountsBench.several { setting, start in
      let first = try await start(setting)
      let message = try first.message(first.command("a"), id: "a")
      first.sink.close()
      #expect(await first.send(message) == nil && first.checks.isEmpty)
      await first.die()

      let second = try await start(setting)
      await second.maintenance.publishLeftovers()
      let reply = try second.coordinator.answer(try #require(second.checks.first), at: second.clock.now())
      second.sink.close()
      await second.report(reply)
      #expect(second.replies.isEmpty)
      await second.die()

      let third = try await start(setting)
      await third.maintenance.publishLeftovers()
      #expect(third.replies.map(\.type) == [AccountSignedIn.type.text])
      #expect(third.events("account.created").count == 1)
      // The reply comes once more, and the command too.
      await third.report(reply)
      #expect(third.sink.published.isEmpty)
      let again = try await third.ask(message)
      #expect(again.type == AccountSignedIn.type.text)
      await third.die()
    }
  }

  @Test func `Without an answer the requester may try again, and the code stays good`() async throws {
    #expect(try await bench.send(bench.command("a"), id: "a") == nil)
    let check = try #require(bench.checks.first)
    bench.clock.advance(by: PhoneCheck.patience)
    _ = bench.sink.takePublished()
    await bench.maintenance.tidy()
    await bench.maintenance.publishLeftovers()
    let late = try bench.answer(try #require(bench.replies.first), "a")
    #expect(late.error?.code == .internalError && late.error?.retryAfter == 5)
    // The approval arrives after all: nobody waits, and nothing is made of it.
    await bench.report(try bench.coordinator.answer(check, at: bench.clock.now()))
    #expect(bench.sink.published.isEmpty)
    // That answer was not final: the same message is carried out anew.
    #expect(try await bench.signIn(bench.command("a"), "a").reply.isNewUser == true)
  }

  @Test func `A reply after the deadline makes no session`() async throws {
    #expect(try await bench.send(bench.command("a"), id: "a") == nil)
    let reply = try bench.coordinator.answer(try #require(bench.checks.first), at: bench.clock.now())
    bench.clock.advance(by: .seconds(16))
    await bench.report(reply)
    #expect(try bench.answer(try #require(bench.replies.first), "a").error?.reason == "CHECK_NOT_ANSWERED")
    #expect(bench.events("account.created").isEmpty)
    // The approval stays good for ten minutes, and no longer.
    bench.clock.advance(by: .seconds(600))
    #expect(try await bench.signIn(bench.command("b"), "b").error?.reason == "APPROVAL_TOO_OLD")
  }

  @Test func `The same code is brought again when the time of the first command is over`() async throws {
    #expect(try await bench.send(bench.command("a"), id: "a") == nil)
    bench.clock.advance(by: PhoneCheck.patience)
    // Before the maintenance has ended the first.
    let late = try await bench.ask(bench.command("b"), id: "b")
    #expect(try bench.answer(late, "a").error?.reason == "CHECK_NOT_ANSWERED")
    await bench.report(try bench.coordinator.answer(try #require(bench.checks.first), at: bench.clock.now()))
    #expect(try bench.answer(try #require(bench.replies.first), "b").reply.isNewUser == true)
  }

  @Test func `A command is waited with from its sending, for no longer than its requester waits`() async throws {
    let message = try bench.message(bench.command("a"), id: "a")
    let later = try bench.message(bench.command("b"), id: "b")
    bench.clock.advance(by: .seconds(10))
    #expect(await bench.send(message) == nil)
    let reply = try bench.coordinator.answer(try #require(bench.checks.first), at: bench.clock.now())
    bench.clock.advance(by: .seconds(7))
    await bench.report(reply)
    #expect(try bench.answer(try #require(bench.replies.first), "a").error?.reason == "CHECK_NOT_ANSWERED")
    let gone = try bench.answer(try await bench.ask(later), "b").error
    #expect(gone?.reason == "COMMAND_TOO_OLD" && gone?.retryAfter != nil && bench.checks.isEmpty)
    #expect(try await bench.signIn(bench.command("c"), "c").reply.isNewUser == true)
  }

  @Test func `A code counts once, also where the coordinator's clock is an hour ahead`() async throws {
    #expect(try await bench.send(bench.command("a"), id: "a") == nil)
    let ahead = bench.clock.now() + .seconds(3600)
    await bench.report(try bench.coordinator.answer(try #require(bench.checks.first), at: ahead))
    #expect(try bench.answer(try #require(bench.replies.first), "a").reply.isNewUser == true)
    bench.clock.advance(by: .seconds(3700))
    await bench.maintenance.tidy()
    #expect(try await bench.signIn(bench.command("b"), "b").error?.reason == "CODE_USED")
  }

  @Test func `A command that waited out an outage is refused without using the code`() async throws {
    let message = try bench.message(bench.command("a"), id: "a")
    bench.clock.advance(by: .seconds(60))
    let reply = try await bench.ask(message)
    #expect(try bench.answer(reply, "a").error?.reason == "COMMAND_TOO_OLD")
    #expect(bench.checks.isEmpty)
    #expect(try await bench.signIn(bench.command("b"), "b").reply.isNewUser == true)
  }

  @Test func `An approval is believed from the coordinator, about what was asked`() async throws {
    #expect(try await bench.send(bench.command("a"), id: "a") == nil)
    let check = try #require(bench.checks.first)
    let approval = VerificationApproved(
      verificationID: "v1", app: AccountsBench.app, phoneNumber: AccountsBench.number, approvedAt: bench.clock.now())
    for user in [Topology.Users.operator, "gateway", "service"] {
      // Not even when it is said to be one of the coordinator, published again.
      await bench.report(
        ScriptedCoordinator.reply(approval, to: check, user: user, sender: Topology.Users.coordinator))
      #expect(bench.replies.isEmpty, "\(user)")
      #expect(bench.sink.published.map(\.exchange) == [Topology.Exchanges.dead])
    }
    var others = [approval, approval, approval, approval]
    others[0].verificationID = "v2"
    others[1].app = "com.example.other"
    others[2].purpose = .secondFactorSignIn
    others[3].subject = "somebody"
    for other in others {
      await bench.report(ScriptedCoordinator.reply(other, to: check))
      #expect(bench.sink.published.isEmpty)
    }
    await bench.report(ScriptedCoordinator.reply(approval, to: check))
    #expect(try bench.answer(try #require(bench.replies.first), "a").reply.isNewUser == true)
  }

  @Test func `Commands are taken from the gateway, sealed to accounts`() async throws {
    let foreign = try await bench.error(bench.command("a"), id: "a", user: "service")
    #expect(foreign.code == .operationNotAllowed)
    // Sealed for another message.
    let moved = try await bench.error(bench.command("b"), id: "c")
    #expect(moved.code == .invalidArgument && moved.reason == "SEAL_MOVED")
    var unknown = try bench.command("d")
    unknown.app = "com.example.unknown"
    #expect(try await bench.error(unknown, id: "d").reason == "APP_NOT_FOUND")
    #expect(bench.checks.isEmpty)
  }

  @Test func `A method that is off neither signs in nor links, and uses no code`() async throws {
    bench.use([.anonymous])
    #expect(try await bench.error(bench.command("a"), id: "a").code == .operationNotAllowed)
    let user = try await bench.signUp("u")
    let link = try bench.command("b", idToken: user.idToken)
    #expect(try await bench.error(link, id: "b").reason == "METHOD_OFF")
    #expect(bench.checks.isEmpty)
    bench.use([.phone])
    #expect(try await bench.signUp("v").error?.code == .operationNotAllowed)
    // Switched off while the coordinator is asked: the code stays good.
    #expect(try await bench.send(bench.command("c"), id: "c") == nil)
    let check = try #require(bench.checks.first)
    bench.use([])
    await bench.report(try bench.coordinator.answer(check, at: bench.clock.now()))
    #expect(try bench.answer(try #require(bench.replies.first), "c").error?.reason == "METHOD_OFF")
    bench.use([.phone])
    #expect(try await bench.signIn(bench.command("d"), "d").reply.isNewUser == true)
  }
}
