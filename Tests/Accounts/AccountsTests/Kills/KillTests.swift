import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Projects
import RecordStore
import TestSupport
import Testing

@testable import Accounts

/// A process is killed behind each of its effects: commits, publications, acknowledgements, and exchanges of codes.
@Suite("Kills between two effects") struct KillTests {
  private static let otherNumber = "+16505550199"

  private static func deletion(_ accounts: KilledAccounts, _ idToken: Secret, _ id: String) throws -> Message {
    let command = DeleteAccount(
      project: AccountsBench.project, idToken: try accounts.bench.seal(idToken, DeleteAccount.self, id))
    return try accounts.bench.message(command, id: id)
  }

  /// Events of the deletion of accounts, and what was asked of others, each once however often it was sent.
  private static func checkErasure(
    _ accounts: KilledAccounts, of users: [String: AccountErased.Apple], addresses: [String], numbers: Set<String>
  ) throws {
    let deleted = try accounts.events("account.deleted").map { try AccountDeleted(json: $0.message.body).localID }
    #expect(deleted.sorted() == users.keys.sorted())
    let erased = try accounts.events("account.erased").map { try AccountErased(json: $0.message.body) }
    #expect(erased.count == users.count)
    for event in erased {
      #expect(event.apple == users[event.localID] && event.mail == .told)
      #expect(event.coordinator != .kept)
    }
    let jobs = accounts.arrived.filter { $0.routingKey == MailForgetJob.routingKey }
    #expect(Set(jobs.map(\.message.messageID)).count == addresses.count)
    #expect(try Set(jobs.flatMap { try MailForgetJob(json: $0.message.body).addresses }) == Set(addresses))
    let forgotten = accounts.arrived.filter { $0.routingKey == ForgetNumber.routingKey }
    #expect(try Set(forgotten.map { try ForgetNumber(json: $0.message.body).phoneNumber }) == numbers)
  }

  @Test(arguments: KilledAccounts.Kind.allCases)
  func `A deletion survives a kill behind each of its effects`(_ kind: KilledAccounts.Kind) async throws {
    try await KilledAccounts.cut(kind) { accounts, run in
      let (bench, subject, address) = (accounts.bench, "001.\(run)", "\(run)@example.com")
      let number = AccountsBench.number
      let holder = try await bench.signIn()
      let grant = try #require(bench.parts.grants.seal(Secret("refresh-\(run)"), of: "client", app: nil))
      let (sessions, random) = (bench.parts.sessions, RandomValues())
      try await bench.change(holder.account) { account, set throws(StoreError) in
        var identity = LinkedIdentity(
          provider: AppleRevocation.provider, subject: subject, linkedAt: account.createdAt)
        (identity.email, identity.grant) = (address, grant)
        account.identities = [identity]
        var factor = SecondFactor(.phone, enrollmentID: "f", enrolledAt: set.now)
        factor.phoneNumber = Self.otherNumber
        account.secondFactors = [factor]
        _ = try sessions.start(for: &account, by: .phone, random, in: &set)
      }
      let (idToken, refreshToken) = (try bench.idToken(of: holder), bench.refreshToken(of: holder))
      accounts.check = { bench in
        _ = try await bench.isWhole(holder.account.id, numbers: [number], subjects: [subject], sessions: 2)
      }
      accounts.begin(killingBehind: run)
      let message = try Self.deletion(accounts, idToken, "delete-\(run)")
      let reply = try await accounts.ask(message)[0]
      #expect(try AccountDeleted(json: reply.body).localID == holder.account.localID)
      try await accounts.work("the erasure") { !accounts.events("account.erased").isEmpty }
      // The session ended with its account, and the command that comes once more is answered alike.
      let refreshing = try accounts.bench.refreshing(refreshToken, id: "refresh-\(run)")
      let late = try await accounts.ask(accounts.bench.message(refreshing, id: "refresh-\(run)"), message)
      #expect(late[0].type == ErrorReply.type.text && late[1].body == reply.body)
      #expect(
        try await !accounts.bench.isWhole(holder.account.id, numbers: [number], subjects: [subject], sessions: 2))
      #expect(Set(accounts.revoked.filter { $0.hasSuffix("-\(run)") }) == ["refresh-\(run)"])
      try Self.checkErasure(
        accounts, of: [holder.account.localID: .revoked], addresses: [address], numbers: [number, Self.otherNumber])
    }
  }

  @Test(arguments: KilledAccounts.Kind.allCases)
  func `A revocation by code and the deletion that it allows survive a kill behind each of their effects`(
    _ kind: KilledAccounts.Kind
  ) async throws {
    try await KilledAccounts.cut(kind) { accounts, run in
      let (holder, idToken) = try await accounts.bench.signInWithApple()
      let localID = holder.account.localID
      accounts.check = { bench in
        _ = try await bench.isWhole(holder.account.id, numbers: [], subjects: [AccountsBench.subject], sessions: 1)
      }
      accounts.begin(killingBehind: run)
      let revoking = try accounts.bench.revoking(idToken, "revoke-\(run)", token: "code-\(run)")
      let revoked = try await accounts.ask(accounts.bench.message(revoking, id: "revoke-\(run)"))[0]
      #expect(try TokenRevoked(json: revoked.body).localID == localID)
      let deleted = try await accounts.ask(Self.deletion(accounts, idToken, "delete-\(run)"))[0]
      #expect(try AccountDeleted(json: deleted.body).localID == localID)
      #expect(Set(accounts.revoked.filter { $0.hasSuffix("-\(run)") }) == ["code-\(run)"])
      try await accounts.work("the erasure") { !accounts.events("account.erased").isEmpty }
      try Self.checkErasure(
        accounts, of: [localID: .revoked], addresses: [AccountsBench.address], numbers: [])
    }
  }

  @Test(arguments: KilledAccounts.Kind.allCases)
  func `Links that two accounts try at once, an unlink and deletions survive a kill behind each of their effects`(
    _ kind: KilledAccounts.Kind
  ) async throws {
    var losses = 0
    try await KilledAccounts.cut(kind) { accounts, run in
      let (subject, number) = ("001.\(run)", AccountsBench.number)
      var users: [AccountsBench.Answer] = []
      var credentials: [IDPCredential] = []
      var grants = (0..<2).map { "refresh-\(run)-\($0)" }

      /// The answer of Apple's page, which leaves the user's grant.
      func consent(_ place: Int) async throws -> IDPCredential {
        var token = FakeProvider.Token(subject, email: "\(place).\(run)@example.com")
        token.refreshToken = grants[place]
        let code = try accounts.bench.credential(AppleRevocation.provider, token).idToken
        let page = "page-\(grants[place])"
        let start = try accounts.bench.starting(AppleRevocation.provider, id: page)
        let started = try await accounts.ask(accounts.bench.message(start, id: page))[0]
        let state = try #require(try accounts.bench.page(started, id: page)["state"])
        return accounts.bench.answered(state) { $0.code = code }
      }

      for place in 0..<2 {
        users.append(try await accounts.bench.signUp("user-\(run)-\(place)"))
        credentials.append(try await consent(place))
        accounts.setting.coordinator.verifications["v-\(run)-\(place)"] = .init(number: number)
      }
      let tokens = try users.map { try #require($0.idToken) }
      let localIDs = try users.map { try #require($0.reply.localID) }
      let ids = try localIDs.map { try #require(AccountRecord.id(of: $0, project: AccountsBench.project)) }
      accounts.check = { bench in
        for id in ids { _ = try await bench.isWhole(id, numbers: [number], subjects: [subject], sessions: 1) }
      }
      accounts.begin(killingBehind: run)

      /// The account that has got it. The other one has been refused.
      func winner(_ answers: [AccountsBench.Answer], _ refused: (AccountsBench.Answer) -> Bool) throws -> Int {
        let linked = answers.indices.filter { answers[$0].idToken != nil }
        #expect(linked.count == 1 && answers.filter(refused).count == 1)
        let index = try #require(linked.first)
        #expect(answers[index].reply.localID == localIDs[index])
        return index
      }

      var names = (0..<2).map { "apple-\(run)-\($0)" }
      var replies = try await accounts.ask(
        accounts.bench.message(accounts.bench.command(names[0], credentials[0], idToken: tokens[0]), id: names[0]),
        accounts.bench.message(accounts.bench.command(names[1], credentials[1], idToken: tokens[1]), id: names[1]))
      var answers = try zip(replies, names).map { try accounts.bench.answer($0, $1) }
      // A process that dies between exchange and transaction loses the grant, and the user begins anew.
      let spent = answers.indices.filter { answers[$0].error?.code == .invalidIDPResponse }
      #expect(spent.count <= 1)
      losses += spent.count
      for place in spent {
        (grants[place], names[place]) = ("\(grants[place])-again", "\(names[place])-again")
        let again = try await accounts.bench.command(names[place], consent(place), idToken: tokens[place])
        let reply = try await accounts.ask(accounts.bench.message(again, id: names[place]))[0]
        answers[place] = try accounts.bench.answer(reply, names[place])
      }
      let first = try winner(answers) { $0.reply.refusal == .identityAlreadyLinked }
      let pending = try #require(answers[1 - first].pending)

      names = (0..<2).map { "phone-\(run)-\($0)" }
      replies = try await accounts.ask(
        accounts.bench.message(
          accounts.bench.command(names[0], session: "v-\(run)-0", idToken: tokens[0]), id: names[0]),
        accounts.bench.message(
          accounts.bench.command(names[1], session: "v-\(run)-1", idToken: tokens[1]), id: names[1]))
      answers = try zip(replies, names).map { try accounts.bench.answer($0, $1) }
      _ = try winner(answers) { $0.proof != nil }

      // Its token of Apple is revoked before the other one takes the identity.
      let unlinking = "unlink-\(run)"
      var unlink = UpdateAccount(
        project: AccountsBench.project,
        idToken: try accounts.bench.seal(tokens[first], UpdateAccount.self, unlinking))
      unlink.deleteProviders = [AppleRevocation.provider]
      #expect(
        try await accounts.ask(accounts.bench.message(unlink, id: unlinking))[0].type == AccountChanged.type.text)
      try await accounts.work("the revocation") { accounts.revoked.contains(grants[first]) }

      var credential = IDPCredential()
      credential.pendingToken = pending.reveal()
      let linking = "link-\(run)"
      let link = try accounts.bench.command(linking, credential, idToken: tokens[1 - first])
      let linked = try await accounts.ask(accounts.bench.message(link, id: linking))[0]
      #expect(try accounts.bench.answer(linked, linking).reply.localID == localIDs[1 - first])

      _ = try await accounts.ask(
        Self.deletion(accounts, tokens[0], "delete-\(run)-0"), Self.deletion(accounts, tokens[1], "delete-\(run)-1"))
      try await accounts.work("the erasures") { accounts.events("account.erased").count == 2 }
      for id in ids {
        #expect(try await !accounts.bench.isWhole(id, numbers: [number], subjects: [subject], sessions: 1))
      }
      let revoked = Set(accounts.revoked.filter { $0.hasPrefix("refresh-\(run)-") })
      #expect(revoked == Set(grants))
      #expect(accounts.events("account.linked").count == 3 && accounts.events("account.unlinked").count == 1)
    }
    #expect(kind == .sqlite ? losses == 2 : losses > 0)
  }

  @Test(arguments: KilledAccounts.Kind.allCases)
  func `Second factors of both kinds, sign-ins by them and their ends survive a kill behind each of their effects`(
    _ kind: KilledAccounts.Kind
  ) async throws {
    let prepare: (AccountsBench) -> Void = { $0.useTOTP { $0.methods.insert(.phoneSecondFactor) } }
    try await KilledAccounts.cut(kind, prepare: prepare) { accounts, run in
      let clock = accounts.setting.clock
      let first = FakeProvider.Token("google-\(run)", email: "\(run)@gmail.com")
      let user = try await accounts.bench.signIn(at: "google.com", first, id: "user-\(run)")
      let localID = try #require(user.reply.localID)
      accounts.check = { bench in
        let account = try #require(try await bench.find(localID))
        let factors = Set(account.secondFactors.map(\.enrollmentID))
        // No session outlives the factor that was given for it.
        for session in try await bench.sessions(of: account) {
          #expect(session.enrollmentID.map { factors.contains($0) } ?? true)
        }
      }
      /// Number of the account's factors and sessions.
      func standing() async throws -> [Int] {
        let account = try #require(try await accounts.bench.find(localID))
        return [account.secondFactors.count, try await accounts.bench.sessions(of: account).count]
      }
      /// Has the coordinator send a code, and takes its session.
      func started(_ name: String, _ asker: AccountsBench.FactorAsker, _ factor: String? = nil) async throws -> String {
        let command = try accounts.bench.starting(
          asker, name, number: factor == nil ? AccountsBench.factorNumber : nil, enrollmentID: factor)
        let reply = try await accounts.ask(accounts.bench.message(command, id: name))[0]
        return try #require(try AccountsBench.Started(reply).verification?.verificationID)
      }
      accounts.begin(killingBehind: run)

      let starting = "totp-\(run)"
      let start = try accounts.bench.startingTOTP(user.idToken, id: starting)
      let secret = try await accounts.ask(accounts.bench.message(start, id: starting))[0]
      let authenticator = try accounts.bench.authenticator(in: secret, starting)
      var code = authenticator.code(at: clock.now())
      _ = try await accounts.one("enroll-totp-\(run)") { bench, id, _ in
        try bench.finishingTOTP(code, id: id, idToken: user.idToken, session: authenticator.shared.sessionInfo)
      }
      var session = try await started("phone-\(run)", .user(user.idToken))
      _ = try await accounts.one("enroll-phone-\(run)") { bench, id, _ in
        try bench.finishing(.user(user.idToken), id, session: session)
      }
      #expect(try await standing() == [2, 1])
      let factors = try #require(try await accounts.bench.find(localID)).secondFactors.map(\.enrollmentID)

      clock.advance(by: .seconds(60))
      let firsts = try await accounts.answers("first-\(run)", of: 3) { bench, id, _ in
        try bench.command(id, bench.credential("google.com", first))
      }
      #expect(firsts.allSatisfy { $0.idToken == nil })
      let pending = try firsts.enumerated().map {
        try accounts.bench.pendingCredential(of: $0.element, "first-\(run)-\($0.offset)")
      }
      // Two have the pending credential, and all the code: each of them counts once.
      code = authenticator.code(at: clock.now())
      _ = try await accounts.one("totp-in-\(run)", of: 3) { bench, id, place in
        try bench.finishingTOTP(code, id: id, pending: pending[place / 2], enrollmentID: factors[0])
      }
      session = try await started("start-in-\(run)", .pending(pending[2]), factors[1])
      let signedIn = try await accounts.one("phone-in-\(run)") { bench, id, _ in
        try bench.finishing(.pending(pending[2]), id, session: session)
      }
      #expect(try await standing() == [2, 3])

      _ = try await accounts.one("withdraw-\(run)") { bench, id, _ in
        try bench.withdrawing(factors[0], signedIn.idToken, id: id)
      }
      #expect(try await standing() == [1, 2])
      var mails: [String: AccountsBench.Mail] = [:]
      for mail in accounts.arrived where mail.routingKey == MailRelayJob.routingKey {
        let id = try #require(mail.message.messageID)
        mails[id] = try accounts.bench.mail(MailRelayJob(json: mail.message.body), id: id)
      }
      let link = try #require(mails.values.first { $0.secondFactor == "+*******0177" }?.code)
      let applied = try await accounts.ask(
        Self.application(accounts, link, "apply-\(run)-0"), Self.application(accounts, link, "apply-\(run)-1"))
      #expect(Set(applied.map(\.type)) == [MailLinkApplied.type.text, ErrorReply.type.text])
      #expect(try await standing() == [0, 0])
      #expect(mails.count == 2 && accounts.events("account.signIn").count == 2)
      #expect(accounts.events("account.secondFactorEnrolled").count == 2)
      #expect(accounts.events("account.secondFactorWithdrawn").count == 2)
    }
  }

  private static func application(_ accounts: KilledAccounts, _ code: String, _ id: String) throws -> Message {
    let sealed = try accounts.bench.seal(Secret(code), ApplyMailLink.self, id)
    return try accounts.bench.message(ApplyMailLink(project: AccountsBench.project, code: sealed), id: id)
  }

  @Test(arguments: KilledAccounts.Kind.allCases)
  func `A consent, the link that waited for it and Apple's end of it survive a kill behind each of their effects`(
    _ kind: KilledAccounts.Kind
  ) async throws {
    let prepare: (AccountsBench) -> Void = { $0.useConsents() }
    try await KilledAccounts.cut(kind, prepare: prepare) { accounts, run in
      let (number, subject) = ("+1650555\(1000 + run)", "001.\(run)")
      let user = try await accounts.bench.signIn("user-\(run)", verification: .init(number: number))
      let localID = try #require(user.reply.localID)
      let id = try #require(AccountRecord.id(of: localID, project: AccountsBench.project))
      accounts.check = { bench in
        _ = try await bench.isWhole(id, numbers: [number], subjects: [subject], sessions: 1)
      }
      func isLinked() async throws -> Bool {
        try await accounts.bench.find(localID)?.identities.isEmpty == false
      }
      accounts.begin(killingBehind: run)

      var token = FakeProvider.Token(subject)
      let refused = try await accounts.answers("link-\(run)") { bench, id, _ in
        try bench.command(id, bench.credential(AppleRevocation.provider, token), idToken: user.idToken)
      }[0]
      #expect(refused.reply.refusal == .consentRequired)
      let consent = accounts.bench.consent(["phone"])
      func recording(_ id: String) throws -> Message {
        try accounts.bench.message(accounts.bench.recording([consent], idToken: user.idToken, id: id), id: id)
      }
      let recorded = try await accounts.ask(recording("consent-\(run)-0"), recording("consent-\(run)-1"))
      #expect(recorded.allSatisfy { $0.type == ConsentsRecorded.type.text })
      var credential = IDPCredential()
      credential.pendingToken = try #require(refused.pending).reveal()
      _ = try await accounts.one("pending-\(run)") { bench, id, _ in
        try bench.command(id, credential, idToken: user.idToken)
      }
      #expect(try await isLinked())

      // From a clock that is ahead: its time alone would let it end what was linked since.
      let claims = accounts.bench.claims(
        "consent-revoked", subject, at: accounts.setting.clock.now() + .seconds(3600), id: "notice-\(run)")
      func noting(_ id: String) throws -> Message {
        let payload = try accounts.bench.seal(Secret(claims), NoteApple.self, id)
        return try accounts.bench.message(NoteApple(project: AccountsBench.project, payload: payload), id: id)
      }
      let noted = try await accounts.ask(noting("note-\(run)-0"), noting("note-\(run)-1"))
      #expect(try noted.count { try !AppleNoted(json: $0.body).isRepeated } == 1)
      #expect(try await !isLinked())
      token.serial = 1
      _ = try await accounts.one("again-\(run)", of: 1) { bench, id, _ in
        try bench.command(id, bench.credential(AppleRevocation.provider, token), idToken: user.idToken)
      }
      let late = try await accounts.ask(noting("note-\(run)-2"))[0]
      #expect(try AppleNoted(json: late.body).isRepeated)
      #expect(try await isLinked())
      #expect(try await accounts.bench.isWhole(id, numbers: [number], subjects: [subject], sessions: 1))
      let counts = ["consentChanged", "linked", "unlinked", "appleNotified"].map {
        accounts.events("account.\($0)").count
      }
      #expect(counts == [1, 2, 1, 1])
    }
  }
}
