import CommandEngine
import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

@Suite("Revoking a token of Sign in with Apple") struct RevokeTokenTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  private func error(_ reply: Message) throws -> APIError { try ErrorReply(json: reply.body).error }

  @Test func `A code goes to the coordinator with the account's subject, sealed to the app`() async throws {
    let (_, idToken) = try await bench.signInWithApple()
    #expect(try await bench.send(bench.revoking(idToken, "a"), id: "a") == nil)
    let (publication, start) = try bench.request(StartRevocation.self)
    #expect(start.subject == AccountsBench.subject && start.app == AccountsBench.app)
    let id = try #require(publication.message.messageID)
    let context = SealContext(messageType: StartRevocation.type, messageID: id, recipient: AccountsBench.app)
    #expect(try start.token.secret.open(with: bench.secrets.secrets.keys, for: context).reveal() == "apple-code")
    // The same code asks for the same operation.
    #expect(try await bench.send(bench.revoking(idToken, "b"), id: "b") == nil)
    #expect(bench.checks.isEmpty)
  }

  @Test(arguments: [("site", "com.example.web"), ("com.example.web", nil), (AccountsBench.app, nil)])
  func `A token of the web is revoked as the project's Services ID`(app: String, clientID: String?) async throws {
    var project = try #require(bench.parts.rules.projects.current[AccountsBench.project])
    project.providers["apple.com"] = Project.ProviderFacts(clientIDs: ["com.example.web"])
    for id in ["site", "com.example.web"] { project.apps.append(ProjectApp(id: id, platform: .web, appID: id)) }
    bench.parts.rules.projects.take(Projects([project]))
    let (_, idToken) = try await bench.signInWithApple()
    var command = try bench.revoking(idToken, "a", kind: .accessToken)
    command.app = app
    #expect(try await bench.send(command, id: "a") == nil)
    let start = try bench.request(StartRevocation.self).body
    #expect(start.app == app && start.clientID == clientID)
  }

  @Test func `Its end allows the session that asked one deletion within five minutes, and nothing else`() async throws {
    let (_, idToken) = try await bench.signInWithApple(number: AccountsBench.number)
    #expect(try error(await bench.delete(idToken)).code == .credentialTooOld)
    let reply = try await bench.revoke(bench.revoking(idToken, "a"), "a", as: bench.state(.completed, .revoked))
    #expect(try TokenRevoked(json: reply.body).operationID == "o1")
    #expect(try error(await bench.unlink(idToken)).code == .credentialTooOld)
    bench.clock.advance(by: .seconds(299))
    #expect(try await bench.delete(idToken).type == AccountDeleted.type.text)
  }

  private func another(_ holder: IDTokenCheck.Holder) async throws -> IDTokenCheck.Holder {
    let (sessions, random, account) = (bench.parts.sessions, RandomValues(), holder.account)
    return try await bench.transact { set throws(StoreError) in
      guard var stored = try AccountRecord.find(account.localID, project: account.project, in: set) else {
        throw StoreError.unreadableBody
      }
      let session = try sessions.start(for: &stored, by: holder.session.firstFactor, random, in: &set)
      try stored.store(in: &set)
      return IDTokenCheck.Holder(account: stored, session: session)
    }
  }

  @Test func `Other sessions, and later ones, are allowed nothing by it`() async throws {
    let (holder, idToken) = try await bench.signInWithApple()
    let other = try await another(holder)
    bench.clock.advance(by: .seconds(600))
    _ = try await bench.revoke(bench.revoking(idToken, "a"), "a", as: bench.state(.completed, .revoked))
    #expect(try error(await bench.delete(bench.idToken(of: other))).code == .credentialTooOld)
    bench.clock.advance(by: AppleRevocation.allowance)
    #expect(try error(await bench.delete(idToken)).code == .credentialTooOld)
  }

  @Test func `A code that was revoked before allows its first session alone, for what is left of its time`()
    async throws
  {
    let (holder, idToken) = try await bench.signInWithApple()
    let other = try await another(holder)
    bench.clock.advance(by: .seconds(600))
    _ = try await bench.revoke(bench.revoking(idToken, "a"), "a", as: bench.state(.completed, .revoked))
    bench.clock.advance(by: .seconds(100))
    let stolen = try bench.idToken(of: other)
    let status = bench.state(.completed, .revoked, ago: .seconds(100))
    #expect(try await bench.revoke(bench.revoking(stolen, "b"), "b", as: status).type == TokenRevoked.type.text)
    #expect(try error(await bench.delete(stolen)).code == .credentialTooOld)
    #expect(try await bench.revoke(bench.revoking(idToken, "c"), "c", as: status).type == TokenRevoked.type.text)
    bench.clock.advance(by: .seconds(199))
    let found = try #require(await bench.find(holder.account))
    #expect(found.appleRevokedAt == bench.clock.now() - .seconds(299))
    #expect(try await bench.delete(idToken).type == AccountDeleted.type.text)
  }

  @Test func `An old code allows nothing, whoever brings it`() async throws {
    for ago in [300, 30 * 86_400] {
      let bench = try await AccountsBench()
      let (_, idToken) = try await bench.signInWithApple()
      let status = bench.state(.completed, .revoked, ago: .seconds(ago))
      _ = try await bench.revoke(bench.revoking(idToken, "a"), "a", as: status)
      #expect(try ErrorReply(json: await bench.delete(idToken).body).error.code == .credentialTooOld)
    }
  }

  @Test func `The code of an identity that is not trusted yet allows nothing`() async throws {
    let (holder, idToken) = try await bench.signInWithApple()
    let trustedFrom = bench.clock.now() + .milliseconds(1)
    try await bench.change(holder.account) { account, _ in account.identities[0].trustedFrom = trustedFrom }
    _ = try await bench.revoke(bench.revoking(idToken, "a"), "a", as: bench.state(.completed, .revoked))
    #expect(try error(await bench.delete(idToken)).code == .credentialTooOld)
    bench.clock.advance(by: .milliseconds(1))
    _ = try await bench.revoke(bench.revoking(idToken, "b"), "b", as: bench.state(.completed, .revoked))
    #expect(try await bench.delete(idToken).type == AccountDeleted.type.text)
  }

  @Test func `One that failed is begun anew by the next attempt`() async throws {
    let (_, idToken) = try await bench.signInWithApple()
    var ids: Set<String?> = []
    for (id, state) in [("a", OperationStatus.State.failed), ("b", .completed)] {
      #expect(try await bench.send(bench.revoking(idToken, id), id: id) == nil)
      let start = try bench.request(StartRevocation.self).publication
      ids.insert(start.message.messageID)
      let started = OperationStarted(
        operationID: "o1", kind: .appleRevocation, app: AccountsBench.app, startedAt: bench.clock.now(),
        repeated: false)
      await bench.report(ScriptedCoordinator.reply(started, to: start))
      let look = try bench.request(GetOperationStatus.self).publication
      await bench.report(ScriptedCoordinator.reply(bench.state(state, failure: "NO_REPORT"), to: look))
      #expect(bench.replies.count == 1)
      bench.clock.advance(by: .seconds(5))
    }
    #expect(ids.count == 2)
  }

  @Test func `A token that is no code allows nothing`() async throws {
    let (holder, idToken) = try await bench.signInWithApple()
    let command = try bench.revoking(idToken, "a", token: "refresh", kind: .refreshToken)
    let reply = try await bench.revoke(command, "a", as: bench.state(.completed, .revoked))
    #expect(reply.type == TokenRevoked.type.text)
    #expect(try error(await bench.delete(idToken)).code == .credentialTooOld)
    // Apple takes any text for one, so it may have heard of nothing.
    #expect(try await bench.find(holder.account)?.appleRevokedAt == nil)
  }

  @Test(
    arguments: [
      ("SUBJECT_MISMATCH", APIErrorCode.invalidIDPResponse), ("INVALID_GRANT", .invalidIDPResponse),
      ("UNKNOWN_CLIENT", .operationNotAllowed),
    ])
  func `A refusal names its reason, and allows nothing`(reason: String, code: APIErrorCode) async throws {
    let (_, idToken) = try await bench.signInWithApple()
    let failed = bench.state(.failed, .refused, failure: reason)
    let refused = try error(await bench.revoke(bench.revoking(idToken, "a"), "a", as: failed))
    #expect(refused.code == code && refused.reason == reason && refused.message.contains("because"))
    #expect(refused.retryAfter == nil)
    #expect(try error(await bench.delete(idToken)).code == .credentialTooOld)
  }

  @Test func `One that is not decided after ten seconds is, when the same comes again`() async throws {
    let (_, idToken) = try await bench.signInWithApple()
    #expect(try await bench.send(bench.revoking(idToken, "a"), id: "a") == nil)
    let first = try bench.request(StartRevocation.self).publication
    bench.clock.advance(by: AppleRevocation.patience)
    await bench.maintenance.tidy()
    await bench.maintenance.publishLeftovers()
    let undecided = try error(try #require(bench.replies.first))
    #expect(undecided.code == .internalError && undecided.retryAfter != nil)
    let status = bench.state(.completed, .revoked)
    #expect(try await bench.send(bench.revoking(idToken, "b"), id: "b") == nil)
    let again = try bench.request(StartRevocation.self).publication
    #expect(again.message.correlationID == first.message.correlationID)
    let started = OperationStarted(
      operationID: "o1", kind: .appleRevocation, app: AccountsBench.app, startedAt: bench.clock.now(), repeated: true)
    await bench.report(ScriptedCoordinator.reply(started, to: again))
    await bench.report(ScriptedCoordinator.reply(status, to: try bench.request(GetOperationStatus.self).publication))
    #expect(try #require(bench.replies.first).type == TokenRevoked.type.text)
  }

  /// Looks at the operation that time brings.
  private func looks(after pause: Duration) async -> [Publication] {
    _ = bench.sink.takePublished()
    bench.clock.advance(by: pause)
    await bench.maintenance.tidy()
    await bench.maintenance.publishLeftovers()
    return bench.checks.filter { $0.routingKey == GetOperationStatus.routingKey }
  }

  @Test(arguments: [AppleToken.Kind.authorizationCode, .refreshToken])
  func `The end of a code's that nobody waits for any longer is told with the deletion`(
    _ kind: AppleToken.Kind
  ) async throws {
    let (holder, idToken) = try await bench.signInWithApple(ago: .zero)
    #expect(try await bench.send(bench.revoking(idToken, "a", kind: kind), id: "a") == nil)
    let started = OperationStarted(
      operationID: "o1", kind: .appleRevocation, app: AccountsBench.app, startedAt: bench.clock.now(), repeated: false)
    await bench.report(ScriptedCoordinator.reply(started, to: try bench.request(StartRevocation.self).publication))
    let isCode = kind == .authorizationCode
    #expect(await looks(after: AppleRevocation.patience).count == (isCode ? 1 : 0))
    #expect(try error(try #require(bench.replies.first)).reason == "REVOCATION_UNDECIDED")
    #expect(await looks(after: AppleRevocation.latePause - .seconds(1)).isEmpty)
    let late = await looks(after: .seconds(1))
    guard isCode else {
      #expect(late.isEmpty)
      return
    }
    let busy = APIError(.internalError, "busy", retryAfter: 1)
    await bench.report(ScriptedCoordinator.reply(ErrorReply(busy), to: try #require(late.first)))
    let later = await looks(after: AppleRevocation.latePause)
    await bench.report(ScriptedCoordinator.reply(bench.state(.completed, .revoked), to: try #require(later.first)))
    #expect(bench.replies.isEmpty)
    #expect(await looks(after: AppleRevocation.latePause).isEmpty)
    #expect(try await bench.find(holder.account)?.appleRevokedAt != nil)
    _ = try await bench.delete(idToken)
    let event = try #require(bench.events("account.erased").first)
    #expect(try AccountErased(json: event.message.body).apple == .revoked)
  }

  @Test(arguments: [false, true])
  func `It is looked for for about an hour, and not for an account that has gone`(isDeleted: Bool) async throws {
    let (_, idToken) = try await bench.signInWithApple(ago: .zero)
    #expect(try await bench.send(bench.revoking(idToken, "a"), id: "a") == nil)
    let started = OperationStarted(
      operationID: "o1", kind: .appleRevocation, app: AccountsBench.app, startedAt: bench.clock.now(), repeated: false)
    await bench.report(ScriptedCoordinator.reply(started, to: try bench.request(StartRevocation.self).publication))
    _ = await looks(after: AppleRevocation.patience)
    if isDeleted { _ = try await bench.delete(idToken) }
    var count = 0
    for _ in 0..<AppleRevocation.maxLooks { count += await looks(after: AppleRevocation.latePause).count }
    // One at the start, one when nobody waited any longer.
    #expect(count == (isDeleted ? 0 : AppleRevocation.maxLooks - 2))
  }

  @Test func `While it runs it is looked at once a second`() async throws {
    let (_, idToken) = try await bench.signInWithApple()
    #expect(try await bench.send(bench.revoking(idToken, "a"), id: "a") == nil)
    let started = OperationStarted(
      operationID: "o1", kind: .appleRevocation, app: AccountsBench.app, startedAt: bench.clock.now(), repeated: false)
    await bench.report(ScriptedCoordinator.reply(started, to: try bench.request(StartRevocation.self).publication))
    let running = bench.state(.running)
    var looks: Set<String?> = []
    for _ in 0..<3 {
      let look = try bench.request(GetOperationStatus.self).publication
      looks.insert(look.message.messageID)
      await bench.report(ScriptedCoordinator.reply(running, to: look))
      #expect(bench.replies.isEmpty)
      bench.clock.advance(by: AppleRevocation.pause)
      _ = bench.sink.takePublished()
      await bench.maintenance.tidy()
      await bench.maintenance.publishLeftovers()
    }
    #expect(looks.count == 3)
  }

  @Test func `The coordinator alone ends it, and only its own operation`() async throws {
    let (_, idToken) = try await bench.signInWithApple()
    #expect(try await bench.send(bench.revoking(idToken, "a"), id: "a") == nil)
    let start = try bench.request(StartRevocation.self).publication
    await bench.report(ScriptedCoordinator.reply(bench.state(.completed, .revoked), to: start))
    await bench.report(
      ScriptedCoordinator.reply(
        bench.state(.completed, .revoked), to: start, user: Topology.Users.operator, sender: Topology.Users.coordinator)
    )
    #expect(bench.replies.isEmpty)
    #expect(try error(await bench.delete(idToken)).code == .credentialTooOld)
  }

  @Test func `Accounts without Apple, other providers and wrong tokens are refused at once`() async throws {
    let holder = try await bench.signIn()
    let token = try bench.idToken(of: holder)
    #expect(try await bench.error(bench.revoking(token, "a"), id: "a").reason == "NOT_LINKED")
    var command = try bench.revoking(token, "b")
    command.providerID = "google.com"
    #expect(try await bench.error(command, id: "b").code == .invalidProviderID)
    #expect(try await bench.error(bench.revoking(token, "c", token: ""), id: "c").field == "token")
    command = try bench.revoking(token, "d")
    command.app = "com.example.unknown"
    #expect(try await bench.error(command, id: "d").reason == "APP_NOT_FOUND")
  }
}
