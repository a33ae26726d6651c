import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite("Awaiting the coordinator for a second factor", .timeLimit(.minutes(10)))
struct PhoneStartTests {
  let bench: AccountsBench

  init() async throws {
    bench = try await AccountsBench()
    bench.useFactors()
  }

  private func starting(_ user: AccountsBench.Answer, _ id: String, replyKey: String? = nil) throws -> StartSecondFactor
  {
    try bench.starting(.user(user.idToken), id, number: AccountsBench.factorNumber, replyKey: replyKey)
  }

  private func started(_ reply: Message?) throws -> AccountsBench.Started {
    try AccountsBench.Started(try #require(reply))
  }

  @Test func `The coordinator's refusals are passed on, but for those that are failures of ours`() async throws {
    let user = try await bench.makeUser()
    for error in [
      APIError(.quotaExceeded, "is used up", retryAfter: 60), APIError(.tooManyAttempts, "later", retryAfter: 7),
      APIError(.captchaCheckFailed, "a machine", field: "proof.recaptchaToken", reason: "CAPTCHA_INVALID"),
      APIError(.invalidAppCredential, "too old", field: "proof.secret", reason: "RECEIPT_EXPIRED"),
      APIError(.missingClientIdentifier, "no proof"), APIError(.invalidPhoneNumber, "a landline", field: "phoneNumber"),
    ] {
      let id = bench.nextID()
      #expect(try await bench.send(starting(user, id), id: id) == nil)
      await bench.report(ScriptedCoordinator.reply(ErrorReply(error), to: try #require(bench.checks.first)))
      #expect(try started(bench.replies.first).error == error)
    }
    #expect(APIError(refusalOfStart: APIError(.invalidArgument, "app is unknown")).code == .internalError)
  }

  @Test func `An answer is believed from the coordinator, about what was asked`() async throws {
    let user = try await bench.makeUser()
    #expect(try await bench.send(starting(user, "a"), id: "a") == nil)
    let answer = try await bench.reportStart(of: AccountsBench.factorNumber, for: .secondFactorEnrollment)
    #expect(try started(bench.replies.first).verification?.verificationID == answer.verificationID)
  }

  @Test func `Without an answer the requester may try again, and the start is the same`() async throws {
    let user = try await bench.makeUser()
    #expect(try await bench.send(starting(user, "a"), id: "a") == nil)
    let first = try #require(bench.checks.first)
    bench.clock.advance(by: PhoneCheck.patience)
    _ = bench.sink.takePublished()
    await bench.maintenance.tidy()
    await bench.maintenance.publishLeftovers()
    let late = try started(bench.replies.first).error
    #expect(late?.reason == "START_NOT_ANSWERED" && late?.retryAfter == 5)
    await bench.report(try bench.coordinator.answer(start: first, at: bench.clock.now()))
    #expect(bench.sink.published.isEmpty)
    #expect(try await bench.send(starting(user, "a"), id: "a") == nil)
    let second = try #require(bench.checks.first)
    #expect(second.message.messageID == first.message.messageID)
    bench.clock.advance(by: .seconds(16))
    await bench.report(try bench.coordinator.answer(start: second, at: bench.clock.now()))
    #expect(try started(bench.replies.first).error?.reason == "START_NOT_ANSWERED")
    #expect(bench.coordinator.starts.count == 1)
  }

  @Test func `A command that waited out an outage sends no code`() async throws {
    let user = try await bench.makeUser()
    let message = try bench.message(starting(user, "a"), id: "a")
    bench.clock.advance(by: .seconds(20))
    #expect(try started(await bench.send(message)).error?.reason == "COMMAND_TOO_OLD")
    #expect(bench.checks.isEmpty)
  }

  @Test func `The same message is one start, answered at its newest address, and never to another key`() async throws {
    let user = try await bench.makeUser()
    #expect(try await bench.send(starting(user, "a"), id: "a") == nil)
    let publication = try #require(bench.checks.first)
    let again = try bench.message(starting(user, "a"), id: "a", replyTo: "amq.gen-second")
    #expect(await bench.send(again) == nil)
    #expect(bench.checks.isEmpty)
    let thief = try PrivateSealingKey.generate(id: "thief").publicKey.jwk
    #expect(try await bench.error(starting(user, "a", replyKey: thief), id: "a").reason == "MESSAGE_ID_REUSED")
    await bench.report(try bench.coordinator.answer(start: publication, at: bench.clock.now()))
    #expect(bench.sink.published.map(\.routingKey) == ["amq.gen-second"])
    let recorded = try started(try await bench.ask(again))
    #expect(recorded.verification?.verificationID == "s0")
    #expect(try await bench.error(starting(user, "a", replyKey: thief), id: "a").reason == "MESSAGE_ID_REUSED")
  }

  @Test func `The same finish gets tokens of the same session, and never to another key`() async throws {
    let user = try await bench.makeUser()
    let session = try await bench.start(.user(user.idToken), number: AccountsBench.factorNumber).verification
    let enrolled = try await bench.finish(.user(user.idToken), session: session?.verificationID, id: "f")
    let command = try bench.finishing(.user(user.idToken), "f", session: session?.verificationID)
    let again = try bench.answer(try await bench.ask(command, id: "f"), "f")
    #expect(again.claims?.sessionID == enrolled.claims?.sessionID)
    #expect(again.refreshToken?.reveal() == enrolled.refreshToken?.reveal())
    #expect(try await bench.factors(of: user).count == 1)
    let thief = try PrivateSealingKey.generate(id: "thief").publicKey.jwk
    let stolen = try bench.finishing(
      .user(user.idToken), "f", session: session?.verificationID, replyKey: thief)
    #expect(try await bench.error(stolen, id: "f").reason == "MESSAGE_ID_REUSED")
  }

  @Test func `A start that the coordinator refuses uses up no code of the account`() async throws {
    let user = try await bench.makeUser()
    for number in 0..<12 {
      #expect(try await bench.send(starting(user, "r\(number)"), id: "r\(number)") == nil)
      let refusal = ErrorReply(APIError(.missingAppCredential, "no proof"))
      await bench.report(ScriptedCoordinator.reply(refusal, to: try #require(bench.checks.first)))
      #expect(try started(bench.replies.first).error?.code == .missingAppCredential)
    }
    #expect(try await bench.start(.user(user.idToken), number: AccountsBench.factorNumber).error == nil)
  }

  @Test func `Codes for second factors are limited for an account`() async throws {
    let user = try await bench.makeUser()
    for _ in 0..<10 {
      #expect(try await bench.start(.user(user.idToken), number: AccountsBench.factorNumber).error == nil)
    }
    let refused = try await bench.start(.user(user.idToken), number: AccountsBench.factorNumber).error
    #expect(refused?.code == .tooManyAttempts && refused?.reason == "SECOND_FACTOR_LIMIT")
    #expect(refused?.field == nil && (refused?.retryAfter ?? 0) > 3000 && bench.checks.isEmpty)
    let other = try await bench.makeUser(email: "other@example.com")
    #expect(try await bench.start(.user(other.idToken), number: AccountsBench.factorNumber).error == nil)
  }

  @Test func `Codes for second factors are limited for an address, whoever the accounts are`() async throws {
    let bench = try await AccountsBench { $0.limits[.secondFactorStartsPerAddress] = 1 }
    bench.useFactors()
    for place in 0..<2 {
      let user = try await bench.makeUser(email: "\(place)@example.com")
      let started = try await bench.start(.user(user.idToken), number: AccountsBench.factorNumber) {
        $0.client = .init(ip: "192.0.2.1")
      }
      #expect(started.error?.field == (place == 0 ? nil : "client.ip"))
    }
  }

  // MARK: Crashes

  @Test func `Killed at each step between the start and the session: the next process goes on`() async throws {
    try await AccountsBench.several { setting, start in
      func next() async throws -> AccountsBench {
        let bench = try await start(setting)
        bench.useFactors()
        await bench.maintenance.publishLeftovers()
        return bench
      }
      var bench = try await next()
      let user = try await bench.makeUser()
      // Before the start was sent.
      let starting = try bench.message(
        bench.starting(.user(user.idToken), "a", number: AccountsBench.factorNumber), id: "a")
      bench.sink.close()
      #expect(await bench.send(starting) == nil && bench.checks.isEmpty)
      await bench.die()

      // Before its answer went out.
      bench = try await next()
      let startReply = try bench.coordinator.answer(start: try #require(bench.checks.first), at: bench.clock.now())
      bench.sink.close()
      await bench.report(startReply)
      #expect(bench.replies.isEmpty)
      await bench.die()

      // Before the check was sent.
      bench = try await next()
      let session = try AccountsBench.Started(try #require(bench.replies.first)).verification?.verificationID
      await bench.report(startReply)
      #expect(bench.sink.published.isEmpty)
      let finishing = try bench.message(
        bench.finishing(.user(user.idToken), "f", session: session), id: "f")
      bench.sink.close()
      #expect(await bench.send(finishing) == nil && bench.checks.isEmpty)
      await bench.die()

      // After the approval.
      bench = try await next()
      let approval = try bench.coordinator.answer(try #require(bench.checks.first), at: bench.clock.now())
      bench.sink.close()
      await bench.report(approval)
      #expect(bench.replies.isEmpty)
      await bench.die()

      bench = try await next()
      #expect(bench.replies.map(\.type) == [AccountSignedIn.type.text])
      #expect(bench.events("account.secondFactorEnrolled").count == 1)
      await bench.report(approval)
      #expect(bench.sink.published.isEmpty)
      #expect(try await bench.ask(finishing).type == AccountSignedIn.type.text)
      #expect(try await bench.factors(of: user).count == 1 && bench.coordinator.starts.count == 1)
      await bench.die()
    }
  }
}
