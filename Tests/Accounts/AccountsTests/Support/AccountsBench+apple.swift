import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

extension AccountsBench {
  static let subject = "001234.abcdef.0001"
  static let address = "ada@example.com"

  /// An account with an identity of Apple, signed in some time ago.
  func signInWithApple(
    number: String? = nil, ago: Duration = .seconds(3600)
  ) async throws -> (holder: IDTokenCheck.Holder, idToken: Secret) {
    let holder = try await signIn(number: number, provider: SignInProvider(name: AppleRevocation.provider))
    try await change(holder.account) { account, _ in
      var identity = LinkedIdentity(
        provider: AppleRevocation.provider, subject: Self.subject, linkedAt: account.createdAt)
      identity.email = Self.address
      account.identities = [identity]
    }
    clock.advance(by: ago)
    let token = try parts.idTokens.idToken(for: holder.account, holder.session, at: clock.now())
    return (holder, token)
  }

  func revoking(
    _ idToken: Secret, _ id: String, token: String = "apple-code", kind: AppleToken.Kind = .authorizationCode
  ) throws -> RevokeToken {
    var command = RevokeToken(
      project: Self.project, idToken: try seal(idToken, RevokeToken.self, id),
      providerID: AppleRevocation.provider, tokenType: kind, token: try seal(Secret(token), RevokeToken.self, id))
    command.app = Self.app
    return command
  }

  /// The only command that was sent to the coordinator.
  func request<Body: Command>(_ type: Body.Type) throws -> (publication: Publication, body: Body) {
    let sent = checks.filter { $0.routingKey == Body.routingKey }
    let publication = try #require(sent.first)
    #expect(sent.count == 1 && publication.message.replyTo == Topology.Queues.accountsReplies)
    return (publication, try Body(json: publication.message.body))
  }

  func state(
    _ state: OperationStatus.State, _ ending: OperationEnding? = nil, failure: String? = nil, ago: Duration = .zero
  ) -> OperationStatus {
    let at = clock.now() - ago
    var status = OperationStatus(
      operationID: "o1", kind: .appleRevocation, app: Self.app, state: state,
      failure: failure.map { .init(code: $0, detail: "because") }, startedAt: at, expiresAt: at,
      timeline: state == .completed ? [.init(at: at, event: "revoke.accepted")] : [])
    status.ending = ending
    return status
  }

  /// Answers the start of a revocation, and the first look at it.
  func revoke(_ command: RevokeToken, _ id: String, as status: OperationStatus) async throws -> Message {
    #expect(try await send(command, id: id) == nil)
    let started = OperationStarted(
      operationID: "o1", kind: .appleRevocation, app: Self.app, startedAt: clock.now(), repeated: false)
    await report(ScriptedCoordinator.reply(started, to: try request(StartRevocation.self).publication))
    await report(ScriptedCoordinator.reply(status, to: try request(GetOperationStatus.self).publication))
    return try #require(replies.first)
  }
}
