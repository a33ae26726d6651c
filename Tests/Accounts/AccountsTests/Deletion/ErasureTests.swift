import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Projects
import Synchronization
import TestSupport
import Testing

@testable import Accounts

@Suite("What is erased after a deletion") struct ErasureTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  private func erased() throws -> AccountErased? {
    try bench.events("account.erased").first.map { try AccountErased(json: $0.message.body) }
  }

  private func round() async {
    _ = bench.sink.takePublished()
    await bench.maintenance.tidy()
    await bench.maintenance.publishLeftovers()
  }

  private let forgotten = NumberForgotten(verifications: 1, canceled: 0, replies: 1, waiting: 0, counts: 0)

  @Test func `An account that nobody else knows of is erased with its deletion`() async throws {
    let user = try await bench.signUp("u")
    _ = try await bench.delete(try #require(user.idToken))
    let event = try #require(try erased())
    #expect(event.localID == user.reply.localID)
    #expect(event.apple == nil && event.coordinator == nil && event.mail == nil)
    #expect(bench.checks.isEmpty && bench.published(on: Topology.Exchanges.jobs).isEmpty)
  }

  @Test func `The coordinator forgets the number as far as it is older than the deletion`() async throws {
    let holder = try await bench.signIn()
    let deletedAt = bench.clock.now()
    _ = try await bench.delete(bench.idToken(of: holder))
    let (publication, command) = try bench.request(ForgetNumber.self)
    #expect(command.phoneNumber == AccountsBench.number && command.keepsLimits == true)
    #expect(command.startedBefore == deletedAt)
    #expect(command.apps == ["com.example.app", "com.example.other"])
    #expect(try erased() == nil)
    // The number has another owner at once.
    let next = try await bench.signIn()
    await bench.report(ScriptedCoordinator.reply(forgotten, to: publication))
    let event = try #require(try erased())
    #expect(event.localID == holder.account.localID && event.coordinator == .forgotten && event.mail == nil)
    #expect(try await bench.find(next.account)?.phoneNumber == AccountsBench.number)
    // A reply that comes again finds nothing.
    await bench.report(ScriptedCoordinator.reply(forgotten, to: publication))
    bench.clock.advance(by: Erasure.patience)
    await round()
    #expect(try erased() == nil && bench.checks.isEmpty)
  }

  @Test func `The numbers of second factors are forgotten one by one, and an answer counts once`() async throws {
    let holder = try await bench.signIn()
    let numbers = ["+14155550151", "+14155550152"]
    _ = try await bench.transact { set throws(StoreError) in
      var account = holder.account
      for number in numbers {
        var factor = SecondFactor(.phone, enrollmentID: number, enrolledAt: set.now)
        factor.phoneNumber = number
        account.secondFactors.append(factor)
      }
      try account.store(in: &set)
    }
    _ = try await bench.delete(bench.idToken(of: holder))
    var request = try bench.request(ForgetNumber.self)
    #expect(request.body.phoneNumber == AccountsBench.number)
    for number in numbers {
      let answer = ScriptedCoordinator.reply(forgotten, to: request.publication)
      await bench.report(answer)
      request = try bench.request(ForgetNumber.self)
      #expect(request.body.phoneNumber == number)
      await bench.report(answer)
      #expect(try erased() == nil && bench.checks.isEmpty)
    }
    await bench.report(ScriptedCoordinator.reply(forgotten, to: request.publication))
    #expect(try #require(try erased()).coordinator == .forgotten)
  }

  @Test func `One that is away or refuses is asked again, for a week`() async throws {
    let holder = try await bench.signIn()
    _ = try await bench.delete(bench.idToken(of: holder))
    var ids = [try bench.request(ForgetNumber.self).publication.message.messageID]
    for pause in Erasure.pauses {
      bench.clock.advance(by: pause - .milliseconds(1))
      await round()
      #expect(bench.checks.isEmpty)
      bench.clock.advance(by: .milliseconds(1))
      await round()
      let again = try bench.request(ForgetNumber.self)
      #expect(again.body.startedBefore == holder.session.authTime)
      ids.append(again.publication.message.messageID)
      let refusal = ErrorReply(APIError(.operationNotAllowed, "no"))
      await bench.report(ScriptedCoordinator.reply(refusal, to: again.publication))
      #expect(try erased() == nil)
    }
    // One command, which the coordinator carries out once, however many wait there after an outage.
    #expect(ids.count == Erasure.pauses.count + 1 && Set(ids).count == 1)
    #expect(bench.metric(#"countersign_account_erasures_total{outcome="refused"}"#) == 4)
    bench.clock.advance(by: Erasure.patience)
    await round()
    #expect(try #require(try erased()).coordinator == .kept)
    await round()
    #expect(try erased() == nil)
  }

  @Test func `An answer that passes by itself is no refusal`() async throws {
    let holder = try await bench.signIn()
    _ = try await bench.delete(bench.idToken(of: holder))
    let request = try bench.request(ForgetNumber.self).publication
    let busy = APIError(.internalError, "busy", retryAfter: 5)
    await bench.report(ScriptedCoordinator.reply(ErrorReply(busy), to: request))
    #expect(bench.metric(#"countersign_account_erasures_total{outcome="refused"}"#) == 0)
    #expect(try erased() == nil)
  }

  @Test func `A user ID that is used again has an event of its own`() async throws {
    var ids: Set<String?> = []
    for _ in 0..<2 {
      let (sessions, random) = (bench.parts.sessions, RandomValues())
      let holder = try await bench.transact { set throws(StoreError) in
        var account = try AccountRecord("imported", project: AccountsBench.project, at: set.now)
        let session = try sessions.start(for: &account, isNew: true, by: .phone, random, in: &set)
        try account.store(isNew: true, in: &set)
        return IDTokenCheck.Holder(account: account, session: session)
      }
      _ = try await bench.delete(bench.idToken(of: holder))
      ids.insert(bench.events("account.erased").first?.message.messageID)
      bench.clock.advance(by: .milliseconds(1))
    }
    #expect(ids.count == 2 && !ids.contains(nil))
  }

  @Test func `Mail workers forget the addresses, and Apple was not told`() async throws {
    let (holder, idToken) = try await bench.signInWithApple(ago: .zero)
    _ = try await bench.delete(idToken)
    let jobs = bench.published(on: Topology.Exchanges.jobs)
    #expect(jobs.map(\.routingKey) == [MailForgetJob.routingKey])
    let job = try MailForgetJob(json: jobs[0].message.body)
    #expect(job.addresses == [AccountsBench.address] && job.knownBefore == bench.clock.now())
    let event = try #require(try erased())
    #expect(event.localID == holder.account.localID && event.apple == .notTold && event.mail == .told)
    #expect(event.coordinator == nil)
  }

  /// Addresses of each job of the last step, by its ID.
  private func addressesForgotten() throws -> [String?: [String]] {
    let jobs = bench.published(on: Topology.Exchanges.jobs).filter { $0.routingKey == MailForgetJob.routingKey }
    return try Dictionary(
      jobs.map { ($0.message.messageID, try MailForgetJob(json: $0.message.body).addresses) }, uniquingKeysWith: +)
  }

  @Test func `Mail workers forget an address that leaves an account, unless it or another one has it still`()
    async throws
  {
    func token(_ address: String) -> FakeProvider.Token { FakeProvider.Token("ada", email: address) }
    let user = try await bench.signIn("p")
    _ = try await bench.signIn(at: "google.com", FakeProvider.Token("bo", email: "bo@example.com"))
    _ = try await bench.signIn(at: "apple.com", token("ada@example.com"), idToken: user.idToken)
    _ = try await bench.signIn(at: "facebook.com", token("Ada@example.com"), idToken: user.idToken)
    _ = try await bench.unlink("apple.com", idToken: user.idToken)
    #expect(try addressesForgotten().isEmpty)
    // The next one at Facebook.
    _ = try await bench.signIn(at: "facebook.com", token("bo@example.com"))
    #expect(try Array(addressesForgotten().values) == [["Ada@example.com"]])
    _ = try await bench.unlink("facebook.com", idToken: user.idToken)
    #expect(try addressesForgotten().isEmpty)
  }

  @Test func `Addresses that leave an account in one batch are forgotten by a job each`() async throws {
    let user = try await bench.signIn("p")
    let providers = ["google.com", "facebook.com"]
    for provider in providers {
      let token = FakeProvider.Token("ada", email: "\(provider)@example.com")
      _ = try await bench.signIn(at: provider, token, idToken: user.idToken)
    }
    let unlinks = try providers.map { provider in
      let idToken = try bench.seal(try #require(user.idToken), UpdateAccount.self, provider)
      var unlink = UpdateAccount(project: AccountsBench.project, idToken: idToken)
      unlink.deleteProviders = [provider]
      return try bench.message(unlink, id: provider)
    }
    await bench.deliver(batch: unlinks)
    let addresses = try addressesForgotten().values.sorted { $0[0] > $1[0] }
    #expect(addresses == [["google.com@example.com"], ["facebook.com@example.com"]])
  }

  @Test func `The first address stays the account's, and the second one leaves it for the third`() async throws {
    bench.usePasswords { $0.protectsAddresses = false }
    let user = try await bench.signUp(email: AccountsBench.email)
    let changed = try await bench.change(user.idToken, email: "bo@example.com")
    #expect(try addressesForgotten().isEmpty)
    _ = try await bench.change(changed.idToken, email: "cy@example.com")
    #expect(try Array(addressesForgotten().values) == [["bo@example.com"]])
  }

  @Test func `Where mail.forget is full, the job waits, outlives its process, and holds nothing up`() async throws {
    try await AccountsBench.several { setting, start in
      let isFull = Mutex(true)
      func begin() async throws -> AccountsBench {
        let bench = try await start(setting)
        bench.sink.answer { publication in
          publication.routingKey == MailForgetJob.routingKey && isFull.withLock { $0 } ? .nacked : .confirmed
        }
        return bench
      }
      func round(_ bench: AccountsBench, after pause: Duration) async -> [Publication] {
        _ = bench.sink.takePublished()
        bench.clock.advance(by: pause)
        await bench.maintenance.tidy()
        await bench.maintenance.publishLeftovers()
        return bench.published(on: Topology.Exchanges.jobs)
      }
      let first = try await begin()
      let (_, idToken) = try await first.signInWithApple(ago: .zero)
      let deleted = try await first.delete(idToken)
      #expect(deleted.type == AccountDeleted.type.text && first.events("account.erased").count == 1)
      let job = try #require(first.published(on: Topology.Exchanges.jobs).first)
      // The next user's deletion, meanwhile.
      let other = try await first.signIn()
      _ = try await first.delete(first.idToken(of: other))
      #expect(try first.request(ForgetNumber.self).body.phoneNumber == AccountsBench.number)
      #expect(await round(first, after: .seconds(4)).isEmpty)
      #expect(await round(first, after: .seconds(1)).count == 1)
      #expect(try await first.store.figures().messages == 1)
      await first.die()

      let second = try await begin()
      #expect(await round(second, after: .seconds(5)).count == 1)
      isFull.withLock { $0 = false }
      let again = await round(second, after: .seconds(5))
      #expect(again.map(\.message.messageID) == [job.message.messageID] && again[0].message.body == job.message.body)
      #expect(try await second.store.figures().messages == 0)
      #expect(await round(second, after: .seconds(60)).isEmpty)
      await second.die()
    }
  }

  @Test func `A revocation before is told, unless the user has signed in with Apple since`() async throws {
    for signsInAgain in [false, true] {
      let bench = try await AccountsBench()
      let (holder, idToken) = try await bench.signInWithApple(ago: .seconds(60))
      _ = try await bench.revoke(bench.revoking(idToken, "a"), "a", as: bench.state(.completed, .revoked))
      bench.clock.advance(by: .seconds(1))
      if signsInAgain {
        let (sessions, random) = (bench.parts.sessions, RandomValues())
        try await bench.change(holder.account) { account, set throws(StoreError) in
          _ = try sessions.start(for: &account, by: holder.session.firstFactor, random, in: &set)
        }
      }
      _ = try await bench.delete(idToken)
      let event = try AccountErased(json: try #require(bench.events("account.erased").first).message.body)
      #expect(event.apple == (signsInAgain ? .notTold : .revoked))
    }
  }

  @Test func `An erasure that a process began another one ends`() async throws {
    try await AccountsBench.several { setting, start in
      let first = try await start(setting)
      let holder = try await first.signIn()
      _ = try await first.delete(first.idToken(of: holder))
      let request = try first.request(ForgetNumber.self).publication
      await first.die()
      let second = try await start(setting)
      second.clock.advance(by: Erasure.pauses[0])
      await second.maintenance.tidy()
      await second.maintenance.publishLeftovers()
      #expect(try second.request(ForgetNumber.self).publication.message.messageID == request.message.messageID)
      await second.report(ScriptedCoordinator.reply(forgotten, to: request))
      #expect(second.events("account.erased").count == 1)
    }
  }
}
