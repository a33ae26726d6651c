import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("The refresh token that Apple's page leaves") struct GrantTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  private func grant(
    _ token: String = "refresh-1", app: String? = nil, on bench: AccountsBench? = nil
  ) throws -> ProviderGrant {
    try #require((bench ?? self.bench).parts.grants.seal(Secret(token), of: "com.example.web", app: app))
  }

  /// An account whose identity has one.
  private func signIn(
    number: String? = nil, on bench: AccountsBench? = nil
  ) async throws -> (holder: IDTokenCheck.Holder, idToken: Secret) {
    let bench = bench ?? self.bench
    let signedIn = try await bench.signInWithApple(number: number, ago: .zero)
    let grant = try grant(on: bench)
    try await bench.change(signedIn.holder.account) { account, _ in account.identities[0].grant = grant }
    return signedIn
  }

  private func round(_ bench: AccountsBench? = nil) async {
    let bench = bench ?? self.bench
    _ = bench.sink.takePublished()
    await bench.maintenance.tidy()
    await bench.maintenance.publishLeftovers()
  }

  private func started(_ bench: AccountsBench? = nil) -> OperationStarted {
    OperationStarted(
      operationID: "o1", kind: .appleRevocation, app: AccountsBench.app,
      startedAt: (bench ?? self.bench).clock.now(), repeated: false)
  }

  /// Answers the start of the revocation and the first look at it.
  private func finish(_ status: OperationStatus) async throws {
    await bench.report(ScriptedCoordinator.reply(started(), to: try bench.request(StartRevocation.self).publication))
    await bench.report(ScriptedCoordinator.reply(status, to: try bench.request(GetOperationStatus.self).publication))
  }

  private func erased(_ bench: AccountsBench? = nil) throws -> AccountErased? {
    try (bench ?? self.bench).events("account.erased").first.map { try AccountErased(json: $0.message.body) }
  }

  private func opened(_ grant: ProviderGrant?) -> String? { grant.flatMap(bench.parts.grants.open)?.reveal() }

  // MARK: Keeping

  @Test func `It is put on the account with the identity, and a later flow renews it`() async throws {
    let (holder, _) = try await bench.signInWithApple(ago: .zero)
    var account = holder.account
    let now = bench.clock.now()
    var proven = ProvenIdentity(provider: "apple.com", subject: AccountsBench.subject, authenticatedAt: now)
    func presented() -> PresentedIdentity {
      PresentedIdentity(proven: proven, source: .credential, app: nil, returnsCredential: false)
    }
    account.identities = []
    proven.grant = try grant()
    presented().put(on: &account, trustedFrom: nil, ownsAddress: false, at: now)
    #expect(opened(account.identities[0].grant) == "refresh-1")
    proven.grant = try grant("refresh-2")
    presented().renew(&account, ownsAddress: false)
    #expect(opened(account.identities[0].grant) == "refresh-2")
    // One of the app brings none.
    proven.grant = nil
    presented().renew(&account, ownsAddress: false)
    #expect(opened(account.identities[0].grant) == "refresh-2")
  }

  @Test func `It travels with a pending token, and stays with the account`() async throws {
    var proven = ProvenIdentity(provider: "apple.com", subject: "s", authenticatedAt: bench.clock.now())
    proven.grant = try grant()
    #expect(opened(try ProvenIdentity(fields: proven.fields()).grant) == "refresh-1")
    let (holder, _) = try await signIn()
    #expect(opened(try await bench.find(holder.account)?.identities[0].grant) == "refresh-1")
  }

  @Test func `Another client, or another key, does not open it`() throws {
    let grant = try grant()
    #expect(GrantSealer(try KeyRing(sealing: BenchSecrets.key("other"))).open(grant) == nil)
  }

  // MARK: Unlinking

  @Test func `Unlinking revokes it: as the Services ID, sealed for the coordinator`() async throws {
    let (holder, idToken) = try await signIn(number: AccountsBench.number)
    _ = try await bench.unlink("apple.com", idToken: idToken)
    await round()
    let (publication, start) = try bench.request(StartRevocation.self)
    #expect(start.clientID == "com.example.web" && start.token.kind == .refreshToken && start.subject == nil)
    #expect(start.app == AccountsBench.apps[0].id)
    let context = SealContext(
      messageType: StartRevocation.type, messageID: try #require(publication.message.messageID), recipient: start.app)
    #expect(try start.token.secret.open(with: bench.secrets.secrets.keys, for: context).reveal() == "refresh-1")
    try await finish(bench.state(.completed, .revoked))
    #expect(bench.metric(#"countersign_grant_revocations_total{outcome="revoked"}"#) == 1)
    #expect(try await bench.find(holder.account)?.identities.isEmpty == true)
    bench.clock.advance(by: GrantRevocation.patience)
    await round()
    #expect(bench.checks.isEmpty)
  }

  @Test func `Whoever takes the identity away, it is revoked`() async throws {
    let changes: [@Sendable (inout AccountRecord) -> Void] = [
      { $0.disownOthers() }, { $0.unlink(["apple.com", "google.com"]) },
    ]
    for change in changes {
      let bench = try await AccountsBench()
      let (holder, _) = try await signIn(on: bench)
      try await bench.change(holder.account) { account, _ in change(&account) }
      await round(bench)
      #expect(try bench.request(StartRevocation.self).body.token.kind == .refreshToken)
    }
    let (holder, _) = try await signIn()
    try await bench.change(holder.account) { account, _ in account.unlink(["google.com"]) }
    await round()
    #expect(bench.checks.isEmpty)
  }

  // MARK: Refusals

  /// Signs in at the page, which leaves one.
  private func signIn(
    _ subject: String, _ token: String, email: String? = nil, idToken: Secret? = nil, makesAccount: Bool = true,
    isRefused: Bool? = nil
  ) async throws -> AccountsBench.Answer {
    var content = FakeProvider.Token(subject, email: email)
    (content.refreshToken, content.isRefused) = (token, isRefused)
    let code = try bench.credential("apple.com", content).idToken
    let credential = bench.answered(try await bench.start("apple.com")) { $0.code = code }
    return try await bench.signIn(credential, idToken: idToken) { $0.autoCreate = makesAccount }
  }

  /// Tokens that the coordinator is asked to revoke.
  private func revoked() async throws -> [String] {
    await round()
    return try bench.published(on: Topology.Exchanges.commands).filter { $0.routingKey == "revocation.start" }.map {
      let start = try StartRevocation(json: $0.message.body)
      let context = SealContext(
        messageType: StartRevocation.type, messageID: try #require($0.message.messageID), recipient: start.app)
      return try start.token.secret.open(with: bench.secrets.secrets.keys, for: context).reveal()
    }
  }

  @Test func `That of a sign-in which an account refuses that lacks the identity is revoked`() async throws {
    let email = "ada@example.com"
    let owner = try await bench.signIn(at: "google.com", FakeProvider.Token("g", email: email))
    let account = try #require(try await bench.find(owner.reply.localID))
    try await bench.change(account) { account, _ in account.isDisabled = true }
    #expect(try await signIn("a", "refresh-1", email: email).error?.code == .userDisabled)
    #expect(try await revoked() == ["refresh-1"])
  }

  @Test func `That of a refused sign-in goes to the account that has the identity`() async throws {
    let localID = try await signIn("a", "refresh-1").reply.localID
    let account = try #require(try await bench.find(localID))
    try await bench.change(account) { account, _ in account.isDisabled = true }
    #expect(try await signIn("a", "refresh-2").error?.code == .userDisabled)
    #expect(opened(try await bench.find(localID)?.identities[0].grant) == "refresh-2")
    #expect(try await revoked() == [])
  }

  @Test func `That of a refusal with a pending token is revoked once the token is refused for good`() async throws {
    let refused = try await signIn("a", "refresh-1", makesAccount: false)
    #expect(refused.reply.refusal == .userNotFound && refused.pending != nil)
    #expect(try await revoked() == [])
    let linked = try #require(try await signIn("b", "refresh-2").idToken)
    let answer = try await bench.signIn(pending: refused.pending, idToken: linked)
    #expect(answer.error?.code == .identityAlreadyLinked)
    #expect(try await revoked() == ["refresh-1"])
  }

  /// Tokens that are revoked by two rounds: the first may make the record that the second one ends.
  private func revokedAtLast() async throws -> [String] { try await revoked() + revoked() }

  @Test func `That of a pending token is revoked at its end, unless the token was used`() async throws {
    for isUsed in [true, false] {
      let refused = try await signIn(isUsed ? "a" : "b", "refresh-1", makesAccount: false)
      #expect(refused.pending != nil)
      bench.clock.advance(by: Ticket.lifetime - .seconds(1))
      #expect(try await revokedAtLast() == [])
      if isUsed { #expect(try await bench.signIn(pending: refused.pending).error == nil) }
      bench.clock.advance(by: .seconds(1))
      #expect(try await revokedAtLast() == (isUsed ? [] : ["refresh-1"]))
      #expect(try await bench.signIn(pending: refused.pending).error?.code == .invalidPendingToken)
    }
  }

  @Test func `That of a pending token goes at its end to an account of the user`() async throws {
    #expect(try await signIn("a", "refresh-1", makesAccount: false).pending != nil)
    let user = try await bench.signIn(at: "apple.com", FakeProvider.Token("a"))
    bench.clock.advance(by: Ticket.lifetime)
    #expect(try await revokedAtLast() == [])
    #expect(opened(try await bench.find(user.reply.localID)?.identities[0].grant) == "refresh-1")
  }

  @Test func `That of an exchange whose ID token is refused is revoked, unless the user comes back`() async throws {
    for comesBack in [true, false] {
      let subject = comesBack ? "b" : "a"
      #expect(try await signIn(subject, "refresh-1", isRefused: true).error?.code == .invalidIDPResponse)
      bench.clock.advance(by: GrantRevocation.respite - .seconds(1))
      #expect(try await revoked() == [])
      if comesBack { #expect(try await signIn(subject, "refresh-2").error == nil) }
      bench.clock.advance(by: .seconds(1))
      #expect(try await revoked() == (comesBack ? [] : ["refresh-1"]))
    }
  }

  /// Grants that are left are those of refused sign-ins, of a user who has no account yet.
  private func refuse(_ subject: String, _ token: String) async throws {
    let email = "ada@example.com"
    let owner = try await bench.signIn(at: "google.com", FakeProvider.Token("g", email: email))
    let account = try #require(try await bench.find(owner.reply.localID))
    try await bench.change(account) { account, _ in account.isDisabled = true }
    #expect(try await signIn(subject, token, email: email).error?.code == .userDisabled)
  }

  private func returned() -> Double? { bench.metric(#"countersign_grant_revocations_total{outcome="returned"}"#) }

  @Test func `That of a refused sign-in goes to an account that has the identity before Apple is asked`() async throws {
    try await refuse("a", "refresh-1")
    // The app's own flow leaves no grant.
    let user = try await bench.signIn(at: "apple.com", FakeProvider.Token("a"))
    #expect(try await revoked() == [])
    #expect(opened(try await bench.find(user.reply.localID)?.identities[0].grant) == "refresh-1" && returned() == 1)
    // Nothing is left of the revocation, and the account's own end revokes it.
    bench.clock.advance(by: .seconds(3600))
    #expect(try await revoked() == [])
    let account = try #require(try await bench.find(user.reply.localID))
    try await bench.change(account) { account, _ in account.unlink(["apple.com"]) }
    #expect(try await revoked() == ["refresh-1"])
  }

  @Test func `A later grant of the same client stays, and ends both`() async throws {
    try await refuse("a", "refresh-1")
    let localID = try await signIn("a", "refresh-2").reply.localID
    #expect(try await revoked() == [])
    #expect(opened(try await bench.find(localID)?.identities[0].grant) == "refresh-2" && returned() == 1)
  }

  @Test func `One whose revocation runs is looked at until its end, whoever has the identity by then`() async throws {
    try await refuse("a", "refresh-1")
    await round()
    let start = try bench.request(StartRevocation.self).publication
    await bench.report(ScriptedCoordinator.reply(started(), to: start))
    let user = try await bench.signIn(at: "apple.com", FakeProvider.Token("a"))
    bench.clock.advance(by: .seconds(2))
    await round()
    let look = try bench.request(GetOperationStatus.self).publication
    await bench.report(ScriptedCoordinator.reply(bench.state(.completed, .revoked), to: look))
    #expect(bench.metric(#"countersign_grant_revocations_total{outcome="revoked"}"#) == 1 && returned() == 0)
    #expect(try await bench.find(user.reply.localID)?.identities[0].grant == nil)
  }

  @Test func `A process that dies after the sign-in leaves one that goes to the account`() async throws {
    try await AccountsBench.several { setting, start in
      let first = try await start(setting)
      let (holder, idToken) = try await signIn(number: AccountsBench.number, on: first)
      _ = try await first.unlink("apple.com", idToken: idToken)
      try await first.change(holder.account) { account, _ in
        account.identities = [
          LinkedIdentity(provider: "apple.com", subject: AccountsBench.subject, linkedAt: account.createdAt)
        ]
      }
      await first.die()
      let second = try await start(setting)
      await round(second)
      #expect(second.checks.isEmpty)
      let account = try #require(try await second.find(holder.account))
      #expect(account.identities[0].grant.flatMap(second.parts.grants.open)?.reveal() == "refresh-1")
    }
  }

  @Test func `A deletion whose grant a new account of the user has got was not told to Apple`() async throws {
    let (_, idToken) = try await signIn()
    _ = try await bench.delete(idToken)
    let again = try await bench.signIn(at: "apple.com", FakeProvider.Token(AccountsBench.subject))
    await round()
    #expect(bench.checks.isEmpty && again.reply.isNewUser == true)
    #expect(try #require(try erased()).apple == .notTold)
    #expect(opened(try await bench.find(again.reply.localID)?.identities[0].grant) == "refresh-1")
  }

  @Test func `A page's code is not used up for a requester that has given up`() async throws {
    var token = FakeProvider.Token("a")
    token.refreshToken = "refresh-1"
    let code = try bench.credential("apple.com", token).idToken
    let credential = bench.answered(try await bench.start("apple.com")) { $0.code = code }
    let id = bench.nextID()
    let sentAt = bench.clock.now() - PhoneCheck.patience - .seconds(1)
    let reply = try await bench.ask(bench.command(id, credential), id: id, sentAt: sentAt)
    #expect(try ErrorReply(json: reply.body).error.reason == "COMMAND_TOO_OLD")
    #expect(try await revoked() == [])
    #expect(try await bench.signIn(credential).error == nil)
  }

  // MARK: Deletion

  @Test func `A deletion is told with what became of it`() async throws {
    let (holder, idToken) = try await signIn()
    _ = try await bench.delete(idToken)
    #expect(try erased() == nil)
    #expect(try await bench.find(holder.account) == nil)
    await round()
    try await finish(bench.state(.completed, .revoked))
    let event = try #require(try erased())
    #expect(event.apple == .revoked && event.localID == holder.account.localID && event.mail == .told)
    #expect(event.coordinator == nil)
  }

  @Test(arguments: [false, true])
  func `With a number the event waits for both, in either order`(appleIsFirst: Bool) async throws {
    let (_, idToken) = try await signIn(number: AccountsBench.number)
    _ = try await bench.delete(idToken)
    let forget = try bench.request(ForgetNumber.self).publication
    let forgotten = ScriptedCoordinator.reply(
      NumberForgotten(verifications: 1, canceled: 0, replies: 1, waiting: 0, counts: 0), to: forget)
    if !appleIsFirst {
      await bench.report(forgotten)
      #expect(try erased() == nil)
    }
    await round()
    try await finish(bench.state(.completed, .revoked))
    if appleIsFirst {
      #expect(try erased() == nil)
      await bench.report(forgotten)
    }
    let event = try #require(try erased())
    #expect(event.apple == .revoked && event.coordinator == .forgotten)
  }

  @Test func `What Apple refuses has failed, and what it did not hear is told again for a week`() async throws {
    let (_, idToken) = try await signIn()
    _ = try await bench.delete(idToken)
    await round()
    var ids: Set<String?> = []
    for (ending, reason) in [
      (OperationEnding.expired, "NOT_REVOKED_IN_TIME"), (.unknown, "NO_REPORT"), (.refused, "UNKNOWN_CLIENT"),
    ] {
      ids.insert(try bench.request(StartRevocation.self).publication.message.messageID)
      try await finish(bench.state(.failed, ending, failure: reason))
      #expect(try erased() == nil)
      bench.clock.advance(by: .seconds(3600))
      await round()
    }
    #expect(ids.count == 3)
    try await finish(bench.state(.failed, .refused, failure: "INVALID_REQUEST"))
    #expect(try #require(try erased()).apple == .failed)
  }

  @Test func `A coordinator that is away or refuses is asked again, and the event comes after a week`() async throws {
    let (_, idToken) = try await signIn()
    _ = try await bench.delete(idToken)
    await round()
    var start = try bench.request(StartRevocation.self).publication
    for pause in GrantRevocation.pauses {
      let refusal = ErrorReply(APIError(.operationNotAllowed, "no"))
      await bench.report(ScriptedCoordinator.reply(refusal, to: start))
      bench.clock.advance(by: pause)
      await round()
      start = try bench.request(StartRevocation.self).publication
    }
    #expect(bench.metric(#"countersign_grant_revocations_total{outcome="refused"}"#) == 4)
    bench.clock.advance(by: GrantRevocation.patience)
    await round()
    #expect(try #require(try erased()).apple == .failed)
    await round()
    #expect(try erased() == nil)
  }

  @Test func `An operation that runs is looked at again, and one that is forgotten begun anew`() async throws {
    let (_, idToken) = try await signIn()
    _ = try await bench.delete(idToken)
    await round()
    try await finish(bench.state(.running))
    for pause in GrantRevocation.looks.dropFirst().prefix(2) {
      bench.clock.advance(by: pause)
      await round()
      let look = try bench.request(GetOperationStatus.self).publication
      await bench.report(ScriptedCoordinator.reply(bench.state(.running), to: look))
    }
    bench.clock.advance(by: .seconds(60))
    await round()
    let look = try bench.request(GetOperationStatus.self).publication
    await bench.report(ScriptedCoordinator.reply(ErrorReply(APIError(.invalidArgument, "unknown")), to: look))
    bench.clock.advance(by: .seconds(3600))
    await round()
    _ = try bench.request(StartRevocation.self)
  }

  @Test func `A revocation that a process began another one ends`() async throws {
    try await AccountsBench.several { setting, start in
      let first = try await start(setting)
      let (_, idToken) = try await signIn(on: first)
      _ = try await first.delete(idToken)
      await first.die()
      let second = try await start(setting)
      await round(second)
      let publication = try second.request(StartRevocation.self).publication
      await second.report(ScriptedCoordinator.reply(started(second), to: publication))
      let look = try second.request(GetOperationStatus.self).publication
      await second.report(ScriptedCoordinator.reply(second.state(.completed, .revoked), to: look))
      #expect(try #require(try erased(second)).apple == .revoked)
    }
  }

  // MARK: Apps

  @Test func `It is revoked in the name of the app that began the flow, else of one of the web`() throws {
    var project = Project(id: "example", number: 1)
    project.apps = [
      ProjectApp(id: "com.example.app", platform: .ios, appID: "1"), ProjectApp(id: "site", platform: .web, appID: "2"),
    ]
    #expect(project.app(revoking: try grant(app: "com.example.app")) == "com.example.app")
    #expect(project.app(revoking: try grant(app: "gone")) == "site")
    project.apps.append(ProjectApp(id: "com.example.web", platform: .web, appID: "3"))
    #expect(project.app(revoking: try grant()) == "com.example.web")
    #expect(Project(id: "example", number: 1).app(revoking: try grant()) == nil)
  }
}
