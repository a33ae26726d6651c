import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts
@testable import CommandEngine
@testable import RecordStore

@Suite struct AccountRoundsTests {
  private static let other = "+16505550199"

  private func loads(_ bench: AccountsBench, _ command: some Command, id: String? = nil) async throws -> Int {
    let user = command is RotateKeys ? "operator" : nil
    let reply = await bench.send(try bench.message(command, id: id ?? bench.nextID(), user: user))
    #expect(reply?.type != ErrorReply.type.text, "\(type(of: command).type.text)")
    return try #require(bench.store.rounds.last)
  }

  private func loads(
    _ bench: AccountsBench, signIn id: String, _ number: String = AccountsBench.number, idToken: Secret? = nil
  ) async throws -> [Int] {
    bench.coordinator.verifications["v-\(id)"] = ScriptedCoordinator.Verification(number: number)
    let command = try await loads(bench, bench.command(id, session: "v-\(id)", idToken: idToken), id: id)
    await bench.report(try bench.coordinator.answer(try #require(bench.checks.first), at: bench.clock.now()))
    #expect(try bench.answer(try #require(bench.replies.first), id).error == nil)
    return [command, try #require(bench.store.rounds.last)]
  }

  /// A new identity, a known one, a link, a refused link, and the token that stands for it.
  private func loadsOfIdentities(_ bench: AccountsBench, _ idToken: Secret?) async throws -> [Int] {
    var loads: [Int] = []
    func signIn(_ credential: IDPCredential, idToken: Secret? = nil) async throws -> AccountsBench.Answer {
      let id = bench.nextID()
      let reply = try await bench.ask(bench.command(id, credential, idToken: idToken), id: id)
      loads.append(try #require(bench.store.rounds.last))
      return try bench.answer(reply, id)
    }
    func apple(_ subject: String, serial: Int = 0) throws -> IDPCredential {
      var token = FakeProvider.Token(subject, email: "\(subject)@example.com")
      token.serial = serial
      return try bench.credential("apple.com", token)
    }
    _ = try await signIn(apple("one"))
    _ = try await signIn(apple("one", serial: 1))
    _ = try await signIn(bench.credential("google.com", FakeProvider.Token("two")), idToken: idToken)
    let refused = try await signIn(apple("one", serial: 2), idToken: idToken)
    #expect(refused.reply.refusal == .identityAlreadyLinked)
    var pending = IDPCredential()
    pending.pendingToken = refused.pending?.reveal()
    #expect(try await signIn(pending).error == nil)
    return loads
  }

  @Test func `Each command takes so many loads, and the frequent ones no more than their look-ups chain`() async throws
  {
    let bench = try await AccountsBench { $0.isDevelopment = true }
    let project = AccountsBench.project
    let user = try await bench.signUp("u")
    // A new number, a known one, a temporary proof, and a link.
    var signIns = try await loads(bench, signIn: "a")
    signIns += try await loads(bench, signIn: "b")
    let signedIn = try await bench.signIn("c")
    let proof = try #require(try await bench.signIn("d", idToken: user.idToken).proof)
    signIns.append(try await loads(bench, bench.command("e", proof: proof), id: "e"))
    signIns += try await loads(bench, signIn: "f", Self.other, idToken: user.idToken)
    let token = try #require(signedIn.idToken)
    let identities = try await loadsOfIdentities(bench, user.idToken)
    #expect(identities == [1, 2, 1, 1, 3])
    let refresh = try bench.refreshing(try #require(signedIn.refreshToken), id: "refresh")
    var update = UpdateAccount(project: project, idToken: try bench.seal(token, UpdateAccount.self, "update"))
    update.displayName = "Ada"
    let delete = DeleteAccount(project: project, idToken: try bench.seal(token, DeleteAccount.self, "delete"))
    var others = [
      "account.signUp": try await loads(bench, SignUp(project: project, replyKey: bench.replyKey.publicKey.jwk)),
      "account.lookup": try await loads(bench, bench.lookingUp(token, id: "look"), id: "look"),
      "session.refresh": try await loads(bench, refresh, id: "refresh"),
      "account.update": try await loads(bench, update, id: "update"),
    ]
    // From its note.
    let again = try await loads(bench, update, id: "update")
    #expect(again == 2)
    let consents = try bench.recording([bench.consent(["phone"])], idToken: token, id: "consents")
    others["account.recordConsent"] = try await loads(bench, consents, id: "consents")
    let apple = try await bench.signInWithApple(ago: .zero)
    others["account.revokeToken"] = try await loads(bench, bench.revoking(apple.idToken, "revoke"), id: "revoke")
    others["account.delete"] = try await loads(bench, delete, id: "delete")
    others["account.startIdp"] = try await loads(bench, bench.starting("apple.com", id: "page"), id: "page")
    others["account.noteApple"] = try await loads(bench, bench.noting("consent-revoked", "note"), id: "note")
    others["keys.get"] = try await loads(bench, GetKeys())
    others["keys.rotate"] = try await loads(bench, RotateKeys(withdraw: false))
    others["account.reset"] = try await loads(bench, ResetAccounts(project: project))
    #expect(signIns == [1, 2, 1, 2, 2, 1, 2])
    #expect(
      others == [
        "account.signUp": 1, "account.lookup": 1, "session.refresh": 1, "account.update": 2, "account.delete": 3,
        "account.revokeToken": 3, "account.reset": 1, "account.startIdp": 1,
        // Whether another account has the address that leaves.
        "account.noteApple": 3,
        "account.recordConsent": 2,
        "keys.get": 1, "keys.rotate": 2,
      ])
    let elsewhere = Self.administrators.union(Self.passwordsAndLinks).union(Self.secondFactors).union([
      SignInWithPhone.type.name, SignInWithIDP.type.name,
    ])
    #expect(
      Set(others.keys).union(elsewhere) == Set(bench.context.registry.commandKinds.map(\.type.name)))
  }

  private static let administrators: Set<String> = [
    "account.setServiceAccount", "account.listServiceAccounts", "account.audit", "account.grantAccess",
    "account.create", "account.change", "account.find", "account.list", "account.remove", "account.import",
    "account.settings", "account.signInWithCustomToken", "session.createCookie", "account.setProvider",
    "account.findProviders", "account.startVerification", "account.checkVerification", "account.getVerification",
    "account.cancelVerification",
  ]

  private static let passwordsAndLinks: Set<String> = [
    "account.signInWithPassword", "account.findMethods", "account.sendMailLink", "account.applyMailLink",
    "account.signInWithMailLink",
  ]

  private static let secondFactors: Set<String> = [
    "account.startSecondFactor", "account.finishSecondFactor", "account.withdrawSecondFactor",
  ]

  @Test func `Each command of a phone as second factor takes so many loads, and each answer to one`() async throws {
    let bench = try await AccountsBench()
    bench.useFactors()
    var loads: [String: [Int]] = [:]
    func note(_ command: some Command, _ id: String) async throws -> Message {
      let name = type(of: command).type.name
      #expect(try await bench.send(command, id: id) == nil)
      loads[name, default: []].append(try #require(bench.store.rounds.last))
      await bench.report(try bench.coordinator.answer(any: try #require(bench.checks.first), at: bench.clock.now()))
      loads[name, default: []].append(try #require(bench.store.rounds.last))
      return try #require(bench.replies.first)
    }
    let user = try await bench.makeUser()
    let asker = AccountsBench.FactorAsker.user(user.idToken)
    _ = try await note(bench.starting(asker, "a", number: AccountsBench.factorNumber), "a")
    #expect(try bench.answer(try await note(bench.finishing(asker, "b", session: "s0"), "b"), "b").error == nil)
    let (pending, factors) = try await bench.pend()
    _ = try await note(bench.starting(.pending(pending), "c", enrollmentID: factors.first?.enrollmentID), "c")
    let finishing = try bench.finishing(.pending(pending), "d", session: "s1")
    #expect(try bench.answer(try await note(finishing, "d"), "d").error == nil)
    #expect(
      loads == ["account.startSecondFactor": [2, 3, 3, 3], "account.finishSecondFactor": [2, 2, 3, 2]])
  }

  @Test func `Each command of authenticators takes so many loads`() async throws {
    let bench = try await AccountsBench()
    bench.useTOTP()
    var loads: [String: Int] = [:]
    let first = try await bench.provenUser()
    let authenticator = try await bench.startTOTP(first.idToken)
    loads["account.startSecondFactor"] = bench.store.rounds.last
    let user = try await bench.enroll(authenticator, first.idToken)
    let enrolling = bench.store.rounds.last
    let id = try #require(try await bench.account(of: user)?.secondFactors.first?.enrollmentID)
    bench.clock.advance(by: .seconds(60))
    let signedIn = try await bench.signIn(
      AccountsBench.Enrolled(user: user, authenticator: authenticator, id: id))
    loads["account.finishSecondFactor"] = bench.store.rounds.last
    #expect(try await bench.withdraw(id, signedIn.idToken).error == nil)
    loads["account.withdrawSecondFactor"] = bench.store.rounds.last
    #expect(enrolling == 4)
    #expect(
      loads == [
        "account.startSecondFactor": 3, "account.finishSecondFactor": 4, "account.withdrawSecondFactor": 3,
      ])
    #expect(Set(loads.keys) == Self.secondFactors)
  }

  @Test func `Each command of passwords and links takes so many loads`() async throws {
    let bench = try await AccountsBench()
    bench.useLinks()
    var loads: [String: Int] = [:]
    func note(_ name: String, _ error: APIError? = nil) {
      #expect(error == nil, "\(name)")
      loads[name] = bench.store.rounds.last
    }
    let email = AccountsBench.address
    #expect(try await bench.signUp(email: email).error == nil)
    note("account.signInWithPassword", try await bench.signIn(email: email).error)
    _ = try await bench.methods(of: email)
    note("account.findMethods")
    let sent = try await bench.sendLink(.signIn, to: email)
    note("account.sendMailLink", sent.error)
    note("account.signInWithMailLink", try await bench.signIn(link: sent.code).error)
    let reset = try await bench.sendLink(.resetPassword, to: email)
    #expect(try await bench.apply(reset.code, newPassword: "a new one").error == nil)
    note("account.applyMailLink")
    #expect(
      loads == [
        "account.signInWithPassword": 1, "account.findMethods": 1, "account.sendMailLink": 2,
        "account.signInWithMailLink": 3, "account.applyMailLink": 4,
      ])
    #expect(Set(loads.keys) == Self.passwordsAndLinks)
  }

  @Test func `Each command of administrators takes so many loads`() async throws {
    let bench = try await AccountsBench()
    bench.useCustomTokens()
    var loads: [String: Int] = [:]
    func note(_ reply: Message, _ name: String) {
      #expect(reply.type != ErrorReply.type.text, "\(name)")
      loads[name] = bench.store.rounds.last
    }
    let token = try await bench.access(AdministratorRole.known)
    loads["account.grantAccess"] = bench.store.rounds.last
    note(
      try await bench.set(.addKey) { command in
        let key = try ServiceKeys.other.get()
        (command.keyID, command.publicKey) = (key.id, try ServiceKeys.pem(key))
      }, "account.setServiceAccount")
    var user = UserFields(localID: "ada")
    (user.email, user.phoneNumber) = ("ada@example.com", "+16505550199")
    note(try await bench.create(user, by: .token(token)), "account.create")
    user.disabled = false
    note(try await bench.change(user, by: .token(token)), "account.change")
    var selection = AccountSelection()
    selection.localIDs = ["ada"]
    note(try await bench.find(selection, by: .token(token)), "account.find")
    note(try await bench.list(by: .token(token)), "account.list")
    note(try await bench.importing(UserBatch(users: [user]), by: .token(token)), "account.import")
    note(try await bench.settings(by: .token(token)), "account.settings")
    note(
      try await bench.setProvider(.create, by: .token(token)) { fields in
        (fields.issuer, fields.clients) = ("https://id.example.com", [OpenIDClient(clientID: "c")])
      }, "account.setProvider")
    note(try await bench.findProviders(by: .token(token)), "account.findProviders")
    let signedIn = try await bench.signIn(custom: bench.signed(bench.customClaims()))
    loads["account.signInWithCustomToken"] = bench.store.rounds.last
    note(try await bench.cookie(signedIn.idToken, by: .token(token)), "session.createCookie")
    note(try await bench.remove(["ada"], isForced: true, by: .token(token)), "account.remove")
    // Each takes one load, and its answer two.
    let id = try await bench.verified(by: .token(token))
    note(try await bench.startVerification(by: .token(token)), "account.startVerification")
    note(try await bench.getVerification(id, by: .token(token)), "account.getVerification")
    note(try await bench.checkVerification(id, by: .token(token)), "account.checkVerification")
    note(try await bench.cancelVerification(id, by: .token(token)), "account.cancelVerification")
    let project = AccountsBench.project
    note(
      try await bench.ask(ListServiceAccounts(project: project), user: "operator"), "account.listServiceAccounts")
    note(try await bench.ask(ListActs(project: project, limit: 10), user: "operator"), "account.audit")
    #expect(
      loads == [
        "account.grantAccess": 1, "account.setServiceAccount": 1, "account.create": 1, "account.change": 1,
        "account.find": 1, "account.list": 1, "account.import": 1, "account.settings": 1,
        "account.setProvider": 1, "account.findProviders": 1, "account.startVerification": 2,
        "account.checkVerification": 2, "account.getVerification": 2, "account.cancelVerification": 2,
        "account.signInWithCustomToken": 1, "session.createCookie": 1, "account.remove": 1,
        "account.listServiceAccounts": 1, "account.audit": 1,
      ])
    #expect(Set(loads.keys) == Self.administrators)
  }

  // MARK: Further runs

  /// The members of objects come in any order.
  private func json(_ body: [UInt8]) throws -> JSONValue {
    try JSONReader(maxBytes: 65_536).value(of: body)
  }

  /// Runs an order twice on what is stored, as if the first run had missed something.
  private func runTwice(
    _ bench: AccountsBench, _ body: @escaping @Sendable (inout WorkingSet) throws(StoreError) -> CommandAnswer?
  ) async throws -> [CommandAnswer] {
    var answers: [CommandAnswer] = []
    for _ in 0..<2 { answers.append(try #require(try await bench.look(body))) }
    return answers
  }

  @Test func `All runs of a command make the same account and session, and sign and seal its tokens once`() async throws
  {
    let bench = try await AccountsBench()
    let id = "up"
    let command = SignUp(project: AccountsBench.project, replyKey: bench.replyKey.publicKey.jwk)
    let envelope = try Envelope(try bench.message(command, id: id))
    let kind = try #require(bench.context.registry.commands[SignUp.type])
    let order = try kind.read(envelope, try command.json(), bench.clock.now(), [:])
    let answers = try await runTwice(bench) { set throws(StoreError) in try order.carryOut(envelope, in: &set) }
    // Sealed anew, it would have another text.
    #expect(try json(answers[0].body) == json(answers[1].body) && answers[0].note == answers[1].note)
    #expect(try AccountSignedIn(json: answers[0].body).isNewUser == true)
  }

  @Test func `All runs of a check's answer make the same account, message and tokens`() async throws {
    let bench = try await AccountsBench()
    // Its refusal leaves the approval to the second, and all runs the seals of both.
    #expect(try await bench.send(bench.command("r", operation: .reauthenticate), id: "r") == nil)
    let check = try #require(bench.checks.first)
    #expect(try await bench.send(bench.command("a"), id: "a") == nil)
    let reply = try bench.coordinator.answer(check, at: bench.clock.now())
    let received = ReceivedReport(envelope: try Envelope(reply.message), body: reply.message.body)
    let kind = try #require(bench.context.registry.reports[VerificationApproved.type]?.first)
    let report = try #require(try kind.read(received))
    var runs: [[JSONValue]] = []
    for _ in 0..<2 {
      let sent = try await bench.look { set throws(StoreError) in
        try report.apply(cause: received.envelope, in: &set)
        return set.changes.outgoing
      }
      runs.append(try sent.map { try json(OutboxCodec.decode($0).body) })
    }
    // The refusal, the events of the new account and its session, and the answer.
    #expect(runs[0] == runs[1] && runs[0].count == 4)
  }

  @Test func `A fictional code that is refused counts once, however often its command runs`() async throws {
    let bench = try await AccountsBench()
    _ = try await bench.signIn("h")
    let fictional = ScriptedCoordinator.Verification(isFictional: true)
    #expect(try await bench.signIn("a", verification: fictional).error?.code == .operationNotAllowed)
    #expect(bench.parts.rules.fictionalRefusals.total == 1)
  }

  @Test func `Commands of one batch that miss in different rounds are each carried out once`() async throws {
    let bench = try await AccountsBench()
    let user = try #require(try await bench.signUp("u").idToken)
    var update = UpdateAccount(project: AccountsBench.project, idToken: try bench.seal(user, UpdateAccount.self, "up"))
    update.displayName = "Ada"
    let delete = DeleteAccount(project: AccountsBench.project, idToken: try bench.seal(user, DeleteAccount.self, "end"))
    let signUp = SignUp(project: AccountsBench.project, replyKey: bench.replyKey.publicKey.jwk)
    await bench.deliver(batch: [
      try bench.message(signUp, id: "new"), try bench.message(update, id: "up"), try bench.message(delete, id: "end"),
    ])
    #expect(bench.store.rounds.last == 3)
    #expect(
      bench.replies.map(\.type)
        == [AccountSignedIn.type.text, AccountChanged.type.text, AccountDeleted.type.text])
    for event in ["account.created", "account.updated", "account.deleted"] {
      #expect(bench.events(event).count == 1, "\(event)")
    }
    let made = try bench.answer(try #require(bench.replies.first), "new")
    #expect(try await bench.lookUp(try #require(made.idToken)).get().localID == made.reply.localID)
  }

  @Test func `Records that are due load what they miss together`() async throws {
    let bench = try await AccountsBench()
    for index in 0..<5 { _ = try await bench.signUp("u\(index)") }
    for id in ["a", "b", "c"] { #expect(try await bench.send(bench.command(id), id: id) == nil) }
    bench.clock.advance(by: SessionRules().unusedFor)
    let before = bench.store.rounds.count
    await bench.maintenance.tidy()
    #expect(bench.store.rounds.dropFirst(before).max() == 1)
    await bench.maintenance.publishLeftovers()
    #expect(bench.events("account.deleted").count == 5)
    #expect(
      try bench.replies.map { try ErrorReply(json: $0.body).error.reason }
        == Array(repeating: "CHECK_NOT_ANSWERED", count: 3))
  }
}
