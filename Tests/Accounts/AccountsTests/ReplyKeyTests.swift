import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import TestSupport
import Testing

@testable import Accounts

/// A command whose key for the reply a thief can replace.
private protocol KeyedCommand: SecretReplyCommand {
  var replyKey: String { get set }
}

extension SignUp: KeyedCommand {}
extension SignInWithPhone: KeyedCommand {}
extension SignInWithIDP: KeyedCommand {}
extension StartIDPSignIn: KeyedCommand {}
extension RefreshSession: KeyedCommand {}
extension SignInWithPassword: KeyedCommand {}
extension SignInWithCustomToken: KeyedCommand {}
extension SendMailLink: KeyedCommand {}
extension SignInWithMailLink: KeyedCommand {}
extension GrantAccess: KeyedCommand {}
extension CreateSessionCookie: KeyedCommand {}
extension StartSecondFactor: KeyedCommand {}
extension FinishSecondFactor: KeyedCommand {}
extension WithdrawSecondFactor: KeyedCommand {}

/// Replies with secrets are for the requester that sent the command, whoever learns its message ID.
@Suite("Secrets of a reply are sealed to one key only", .timeLimit(.minutes(10)))
struct ReplyKeyTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  private static let id = "x"

  private struct Case: Sendable {
    let type: MessageType
    let command: @Sendable (AccountsBench, _ replyKey: String) async throws -> any KeyedCommand
    /// Whether the coordinator is asked before it is answered.
    var waits = false
  }

  private static func seal<C: SecretReplyCommand>(
    _ secret: Secret, _ type: C.Type, _ bench: AccountsBench, _ replyKey: String
  ) throws -> SecretField {
    try PublicSealer(key: bench.secrets.sealingKey.publicKey).seal(
      secret, for: AccountCommandFields.context(of: C.type, messageID: id, replyKey: replyKey))
  }

  private static func signIn(_ bench: AccountsBench, _ replyKey: String, idToken: Secret? = nil) throws
    -> SignInWithPhone
  {
    var command = SignInWithPhone(project: AccountsBench.project, replyKey: replyKey)
    command.app = AccountsBench.app
    command.sessionInfo = try seal(Secret("v1"), SignInWithPhone.self, bench, replyKey)
    command.code = try seal(Secret("123456"), SignInWithPhone.self, bench, replyKey)
    command.idToken = try idToken.map { try seal($0, SignInWithPhone.self, bench, replyKey) }
    return command
  }

  private static let cases: [Case] =
    [
      Case(type: SignUp.type) { _, replyKey in SignUp(project: AccountsBench.project, replyKey: replyKey) },
      Case(type: SignInWithPhone.type, command: { try signIn($0, $1) }, waits: true),
      // The number is another account's: the reply has a temporary proof.
      Case(
        type: SignInWithPhone.type,
        command: { bench, replyKey in
          _ = try await bench.signIn("holder")
          let user = try await bench.signUp("user")
          return try signIn(bench, replyKey, idToken: user.idToken)
        }, waits: true),
      Case(type: SignInWithPhone.type) { bench, replyKey in
        _ = try await bench.signIn("holder")
        let user = try await bench.signUp("user")
        let proof = try #require(try await bench.signIn("linked", idToken: user.idToken).proof)
        var command = SignInWithPhone(project: AccountsBench.project, replyKey: replyKey)
        command.phoneNumber = AccountsBench.number
        command.temporaryProof = try seal(proof, SignInWithPhone.self, bench, replyKey)
        return command
      },
      Case(type: SignInWithIDP.type) { bench, replyKey in
        let credential = try bench.credential("apple.com", FakeProvider.Token("s1")).text()
        return SignInWithIDP(
          project: AccountsBench.project, credential: try seal(credential, SignInWithIDP.self, bench, replyKey),
          replyKey: replyKey)
      },
      // The identity is another account's: the reply has a pending token.
      Case(type: SignInWithIDP.type) { bench, replyKey in
        var token = FakeProvider.Token("s1")
        _ = try await bench.signIn(at: "apple.com", token)
        token.serial = 1
        let user = try await bench.signUp("user")
        var command = SignInWithIDP(
          project: AccountsBench.project,
          credential: try seal(bench.credential("apple.com", token).text(), SignInWithIDP.self, bench, replyKey),
          replyKey: replyKey)
        command.idToken = try seal(try #require(user.idToken), SignInWithIDP.self, bench, replyKey)
        return command
      },
      Case(type: StartIDPSignIn.type) { bench, replyKey in
        let request = try PageRequest(sessionHash: ProviderNonce.hash(AccountsBench.session)).text()
        return StartIDPSignIn(
          project: AccountsBench.project, providerID: "apple.com", redirectURI: OpenIDBench.redirect,
          request: try seal(request, StartIDPSignIn.self, bench, replyKey), replyKey: replyKey)
      },
      Case(type: RefreshSession.type) { bench, replyKey in
        let user = try await bench.signUp("user")
        // A refresh that is noted, and so recorded.
        bench.clock.advance(by: .seconds(3600))
        let token = try seal(try #require(user.refreshToken), RefreshSession.self, bench, replyKey)
        return RefreshSession(project: AccountsBench.project, refreshToken: token, replyKey: replyKey)
      },
      Case(type: SignInWithPassword.type) { bench, replyKey in
        bench.usePasswords()
        _ = try await bench.signUp(email: AccountsBench.email)
        let credential = try PasswordCredential(email: AccountsBench.email, password: AccountsBench.password).text()
        return SignInWithPassword(
          project: AccountsBench.project, credential: try seal(credential, SignInWithPassword.self, bench, replyKey),
          replyKey: replyKey)
      },
      Case(type: SignInWithMailLink.type) { bench, replyKey in
        bench.useLinks()
        let code = try await bench.sendLink(.signIn, to: AccountsBench.address).code
        let credential = try MailLinkCredential(email: AccountsBench.address, code: code).text()
        return SignInWithMailLink(
          project: AccountsBench.project, credential: try seal(credential, SignInWithMailLink.self, bench, replyKey),
          replyKey: replyKey)
      },
    ] + casesOfSecondFactors + casesOfAdministrators + casesOfAuthenticators

  private static let casesOfSecondFactors: [Case] = [
    Case(
      type: StartSecondFactor.type,
      command: { bench, replyKey in
        bench.useFactors()
        let user = try await bench.makeUser()
        return try bench.starting(.user(user.idToken), id, number: AccountsBench.factorNumber, replyKey: replyKey)
      }, waits: true),
    Case(
      type: FinishSecondFactor.type,
      command: { bench, replyKey in
        _ = try await bench.makeFactorUser()
        let (pending, factors) = try await bench.pend()
        let session = try await bench.startSignIn(pending, try #require(factors.first?.enrollmentID))
        return try bench.finishing(.pending(pending), id, session: session, replyKey: replyKey)
      }, waits: true),
  ]

  private static let casesOfAdministrators: [Case] = [
    Case(type: SignInWithCustomToken.type) { bench, replyKey in
      bench.useCustomTokens()
      try await bench.makeServiceAccount([.tokens])
      let token = try bench.signed(bench.customClaims())
      return SignInWithCustomToken(
        project: AccountsBench.project, token: try seal(token, SignInWithCustomToken.self, bench, replyKey),
        replyKey: replyKey)
    },
    Case(type: GrantAccess.type) { bench, replyKey in
      try await bench.makeServiceAccount([.tokens])
      let assertion = try bench.signed(bench.assertion())
      return GrantAccess(assertion: try seal(assertion, GrantAccess.self, bench, replyKey), replyKey: replyKey)
    },
    Case(type: SendMailLink.type) { bench, replyKey in
      bench.useLinks()
      let addresses = try MailLinkAddresses(email: AccountsBench.address).text()
      var command = SendMailLink(
        project: AccountsBench.project, purpose: .signIn,
        addresses: try seal(addresses, SendMailLink.self, bench, replyKey), replyKey: replyKey)
      command.bearer = try seal(try await bench.access([.writeUsers]), SendMailLink.self, bench, replyKey)
      command.returnsLink = true
      return command
    },
    Case(type: CreateSessionCookie.type) { bench, replyKey in
      let user = try await bench.signUp("user")
      let idToken = try seal(try #require(user.idToken), CreateSessionCookie.self, bench, replyKey)
      var command = CreateSessionCookie(
        project: AccountsBench.project, idToken: idToken, validFor: 300, replyKey: replyKey)
      command.bearer = try seal(try await bench.access([.tokens]), CreateSessionCookie.self, bench, replyKey)
      return command
    },
  ]

  private static let casesOfAuthenticators: [Case] = [
    Case(type: StartSecondFactor.type) { bench, replyKey in
      bench.useTOTP()
      let token = try #require(try await bench.provenUser().idToken)
      var command = StartSecondFactor(project: AccountsBench.project, kind: .totp, replyKey: replyKey)
      command.idToken = try seal(token, StartSecondFactor.self, bench, replyKey)
      return command
    },
    Case(type: FinishSecondFactor.type) { bench, replyKey in
      bench.useTOTP()
      let enrolled = try await bench.enrolledUser()
      let pending = try await bench.pendingCredential()
      let code = Secret(enrolled.authenticator.code(at: bench.clock.now()))
      var command = FinishSecondFactor(project: AccountsBench.project, kind: .totp, replyKey: replyKey)
      command.enrollmentID = enrolled.id
      command.pendingCredential = try seal(pending, FinishSecondFactor.self, bench, replyKey)
      command.code = try seal(code, FinishSecondFactor.self, bench, replyKey)
      return command
    },
    Case(type: WithdrawSecondFactor.type) { bench, replyKey in
      bench.useTOTP()
      let enrolled = try await bench.enrolledUser()
      let token = try seal(try #require(enrolled.user.idToken), WithdrawSecondFactor.self, bench, replyKey)
      return WithdrawSecondFactor(
        project: AccountsBench.project, idToken: token, enrollmentID: enrolled.id, replyKey: replyKey)
    },
  ]

  /// The messages of `Config/asyncapi.json`.
  private struct Document: Decodable {
    struct Components: Decodable {
      var messages: [String: Message]
      var schemas: [String: Schema]
    }

    struct Message: Decodable {
      var name: String
    }

    struct Schema: Decodable {
      struct Property: Decodable {}

      var properties: [String: Property]?
      var required: [String]?
    }

    var components: Components
  }

  /// Those that have it at times are left out: their secrets are bound to it alike.
  @Test func `Every command that always has a key for the reply is among those that are tried`() throws {
    let data = try Data(contentsOf: URL(filePath: Repository.root).appending(path: "Config/asyncapi.json"))
    let components = try JSONDecoder().decode(Document.self, from: data).components
    let schemas = components.schemas.filter { $0.value.required?.contains("replyKey") == true }.keys
    let types = components.messages.filter { schemas.contains($0.key) }.values.map(\.name)
    // That of webhooks is tried in WebhookCommandTests.
    let tried = Set(Self.cases.map(\.type.text)).union(["webhook.add.v1"])
    #expect(Set(types) == tried && types.count == schemas.count)
  }

  @Test(arguments: cases.indices)
  private func `The same message ID with another key gets no secrets, be the rest copied or known`(
    _ index: Int
  ) async throws {
    let one = Self.cases[index]
    let command = try await one.command(bench, bench.replyKey.publicKey.jwk)
    let key = try PrivateSealingKey.generate(id: "thief").publicKey.jwk
    var copied = command
    copied.replyKey = key
    var reply = try await bench.send(command, id: Self.id)
    if one.waits {
      #expect(reply == nil)
      let check = try #require(bench.checks.first)
      #expect(try await bench.error(copied, id: Self.id).code == .invalidArgument)
      await bench.report(try bench.coordinator.answer(any: check, at: bench.clock.now()))
      #expect(bench.replies.count == 1)
      reply = bench.replies.first
    }
    let first = try #require(reply)
    try #require(first.type == Self.replyType(of: command).text, "\(String(decoding: first.body, as: UTF8.self))")
    for _ in 0..<2 {
      let refused = try await bench.error(copied, id: Self.id)
      #expect(refused.code == .invalidArgument && ["MESSAGE_ID_REUSED", "SEAL_MOVED"].contains(refused.reason))
    }
    // The requester itself is answered again.
    let again = try await bench.ask(command, id: Self.id)
    #expect(again.type == first.type)
  }

  private static func replyType<C: SecretReplyCommand>(of command: C) -> MessageType { C.Reply.type }

  @Test func `Without a secret of its own, a sign-up is bound to its key by its message ID`() async throws {
    _ = try await bench.signUp(Self.id)
    let key = try PrivateSealingKey.generate(id: "thief").publicKey.jwk
    let stolen = SignUp(project: AccountsBench.project, replyKey: key)
    #expect(try await bench.error(stolen, id: Self.id).reason == "MESSAGE_ID_REUSED")
  }

  @Test func `A new password is bound to its key, too`() async throws {
    bench.usePasswords()
    let user = try await bench.signUp(email: AccountsBench.email)
    let key = try PrivateSealingKey.generate(id: "thief").publicKey.jwk
    #expect(try await bench.change(user.idToken, password: AccountsBench.otherPassword, id: Self.id).error == nil)
    let stolen = try await bench.change(user.idToken, password: AccountsBench.otherPassword, id: Self.id) {
      $0.replyKey = key
    }
    #expect(["MESSAGE_ID_REUSED", "SEAL_MOVED"].contains(stolen.error?.reason))
  }

  @Test func `Who knows the secrets gets none under the ID of another one's command`() async throws {
    let command = try Self.signIn(bench, bench.replyKey.publicKey.jwk)
    _ = try await bench.send(command, id: Self.id)
    await bench.report(try bench.coordinator.answer(try #require(bench.checks.first), at: bench.clock.now()))
    let key = try PrivateSealingKey.generate(id: "thief").publicKey.jwk
    let stolen = try Self.signIn(bench, key)
    #expect(try await bench.error(stolen, id: Self.id).reason == "MESSAGE_ID_REUSED")
  }

  @Test func `A seal that does not bind the key is refused`() async throws {
    var command = try Self.signIn(bench, bench.replyKey.publicKey.jwk)
    command.code = try PublicSealer(key: bench.secrets.sealingKey.publicKey).seal(
      Secret("123456"),
      for: SealContext(
        messageType: SignInWithPhone.type, messageID: Self.id, recipient: AccountCommandFields.recipient))
    #expect(try await bench.error(command, id: Self.id).reason == "SEAL_MOVED")
  }

  @Test func `Events name no command that yields tokens`() async throws {
    let user = try await bench.signUp("u")
    var events = bench.events("account.created")
    let linked = try await bench.signIn("a", idToken: user.idToken)
    events += bench.events("account.updated")
    _ = try await bench.delete(try #require(linked.idToken))
    _ = try await bench.signIn("b")
    events += bench.events("account.created")
    #expect(events.count == 3)
    for event in events {
      let envelope = try #require(try? Envelope(event.message))
      #expect(envelope.causationID == nil && !["u", "a", "b"].contains(envelope.messageID))
    }
  }
}
