import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import TestSupport
import Testing

@testable import Accounts

@Suite struct RefreshTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  private func refresh(
    _ token: Secret, _ bench: AccountsBench, id: String? = nil
  ) async throws -> (localID: String, idToken: Secret, refreshToken: Secret) {
    let id = id ?? bench.nextID()
    let reply = try await bench.ask(bench.refreshing(token, id: id), id: id)
    let body = try SessionRefreshed(json: reply.body)
    #expect(body.tokens.expiresIn == 3600)
    #expect(body.tokens.idToken.isSealed && body.tokens.refreshToken.isSealed)
    return (
      body.localID, try bench.opened(body.tokens.idToken, SessionRefreshed.type, id: id),
      try bench.opened(body.tokens.refreshToken, SessionRefreshed.type, id: id)
    )
  }

  private func refusal(
    _ token: Secret, _ bench: AccountsBench, project: String = AccountsBench.project
  ) async throws -> APIErrorCode {
    let id = bench.nextID()
    return try await bench.error(bench.refreshing(token, id: id, project: project), id: id).code
  }

  @Test func `A refresh makes an ID token of the same sign-in, and hands the token back`() async throws {
    let holder = try await bench.signIn()
    let token = bench.refreshToken(of: holder)
    bench.clock.advance(by: .seconds(7200))
    let tokens = try await refresh(token, bench)
    #expect(tokens.localID == holder.account.localID && tokens.refreshToken.reveal() == token.reveal())
    let verified = try bench.verified(tokens.idToken)
    #expect(verified.authTime.seconds == holder.session.authTime.seconds)
    #expect(verified.issuedAt.seconds == bench.clock.now().seconds)
    #expect(try await bench.find(holder.account)?.lastRefreshAt == bench.clock.now())
  }

  @Test func `A refresh within an hour of another writes nothing`() async throws {
    let holder = try await bench.signIn()
    let token = bench.refreshToken(of: holder)
    _ = try await refresh(token, bench)
    let first = bench.clock.now()
    bench.clock.advance(by: .seconds(3599))
    _ = try await refresh(token, bench, id: "unrecorded")
    #expect(try await bench.find(holder.account)?.lastRefreshAt == first)
    #expect(try await recorded("unrecorded", bench) == nil)
    bench.clock.advance(by: .seconds(1))
    _ = try await refresh(token, bench, id: "recorded")
    #expect(try await bench.find(holder.account)?.lastRefreshAt == bench.clock.now())
    #expect(try await bench.sessions(of: holder.account).first?.lastUsedAt == bench.clock.now())
    let entry = try #require(try await recorded("recorded", bench))
    guard case .unrecorded(let note) = entry.state else {
      Issue.record("an answer with tokens is recorded")
      return
    }
    #expect(try AnswerNote(note) == AnswerNote(holder.session))
  }

  private func recorded(_ id: String, _ bench: AccountsBench) async throws -> InboxEntry? {
    let key = try InboxKey(MessageIdentity(sender: "gateway", messageID: id).key)
    return try await bench.look { set throws(StoreError) in try set.message(key) }
  }

  @Test func `The same command again is answered with new tokens while the session goes on`() async throws {
    let holder = try await bench.signIn()
    let token = bench.refreshToken(of: holder)
    bench.clock.advance(by: .seconds(7200))
    let message = try bench.message(bench.refreshing(token, id: "same"), id: "same")
    let first = try SessionRefreshed(json: try await bench.ask(message).body)
    let second = try SessionRefreshed(json: try await bench.ask(message).body)
    #expect(first.localID == second.localID)
    #expect(
      try bench.opened(second.tokens.refreshToken, SessionRefreshed.type, id: "same").reveal() == token.reveal())
    let sessions = bench.parts.sessions
    try await bench.change(holder.account) { account, set throws(StoreError) in
      try sessions.endAll(of: &account, in: &set)
    }
    let third = try await bench.ask(message)
    #expect(try ErrorReply(json: third.body).error.code == .tokenExpired)
  }

  @Test func `Forged refresh tokens are refused alike`() async throws {
    let holder = try await bench.signIn()
    let other = try await bench.signIn(number: nil)
    let make = bench.parts.idTokens.refreshTokens.make
    let parts = make(holder.session).reveal().split(separator: ".").map(String.init)
    let others = make(other.session).reveal().split(separator: ".").map(String.init)
    // The name of the token key has a dot itself.
    #expect(parts.count == 4)
    let ring = try KeyRing(sealing: BenchSecrets.key("tokens.1"))
    let foreign = try #require(RefreshTokens(ring: ring)).make(for: holder.session)
    var texts = [
      "x", "..", "a.b.c", foreign.reveal(), String(repeating: "a", count: 100_000),
      [parts[0], parts[1], parts[2], others[3]].joined(separator: "."),
      [parts[0], parts[1], others[2], parts[3]].joined(separator: "."),
      ["tokens", "2", parts[2], parts[3]].joined(separator: "."),
      [parts[0], parts[1], parts[2], String(parts[3].dropLast(4))].joined(separator: "."),
      [parts[0], parts[1], String(parts[2].dropLast()), parts[3]].joined(separator: "."),
    ]
    // The origin of another token of ours, whose session is another.
    let codes = try #require(Base64URL.decode(parts[3]))
    let changed = Array(codes.dropLast()) + [(codes.last ?? 0) ^ 1]
    texts.append([parts[0], parts[1], parts[2], Base64URL.encode(changed)].joined(separator: "."))
    for text in texts where text.utf8.count < 60_000 {
      #expect(try await refusal(Secret(text), bench) == .invalidRefreshToken, "\(text.prefix(80))")
    }
    #expect(bench.parts.idTokens.refreshTokens.read(Secret(texts[4])) == nil)
    #expect(try await refusal(Secret(""), bench) == .missingRefreshToken)
    #expect(
      try await refusal(make(holder.session), bench, project: AccountsBench.otherProject) == .invalidRefreshToken)
    #expect(try await refusal(make(holder.session), bench, project: "unknown-project") == .projectNotFound)
  }

  @Test func `Disabled, ended, unused and deleted are told apart`() async throws {
    let holder = try await bench.signIn()
    let token = bench.refreshToken(of: holder)
    try await bench.change(holder.account) { account, _ in account.isDisabled = true }
    #expect(try await refusal(token, bench) == .userDisabled)
    try await bench.change(holder.account) { account, _ in account.isDisabled = false }
    _ = try await refresh(token, bench)
    bench.clock.advance(by: .seconds(180 * 86_400))
    #expect(try await refusal(token, bench) == .tokenExpired)
    let sessions = bench.parts.sessions
    try await bench.change(holder.account) { account, set throws(StoreError) in
      try sessions.endAll(of: &account, in: &set)
    }
    #expect(try await refusal(token, bench) == .tokenExpired)
    try await bench.change(holder.account) { account, set throws(StoreError) in
      try sessions.delete(account, in: &set)
    }
    #expect(try await refusal(token, bench) == .userNotFound)
  }

  @Test func `A token of an earlier token key is taken, and replaced`() async throws {
    let (old, new) = (try BenchSecrets.key("old"), try BenchSecrets.key("new"))
    try await AccountsBench.several { setting, start in
      setting.secrets.use(try KeyRing(sealing: old))
      let before = try await start(setting)
      let holder = try await before.signIn()
      let token = before.refreshToken(of: holder)
      setting.secrets.use(try KeyRing(sealing: new, others: [old]))
      let during = try await start(setting)
      let replaced = try await refresh(token, during).refreshToken
      #expect(replaced.reveal() != token.reveal() && replaced.reveal().hasPrefix("new."))
      await during.maintenance.tidy()
      setting.secrets.use(try KeyRing(sealing: new))
      let after = try await start(setting)
      #expect(try await refusal(token, after) == .invalidRefreshToken)
      #expect(try await refresh(replaced, after).refreshToken.reveal() == replaced.reveal())
    }
  }

  @Test func `Only requesters are served, in time, and with secrets that are sealed to accounts`() async throws {
    let holder = try await bench.signIn()
    let token = bench.refreshToken(of: holder)
    for user in ["service", "operator", "coordinator"] {
      let id = bench.nextID()
      let error = try await bench.error(bench.refreshing(token, id: id), id: id, user: user)
      #expect(error.code == .operationNotAllowed, "\(user)")
    }
    let late = try bench.message(bench.refreshing(token, id: "late"), id: "late")
    bench.clock.advance(by: .seconds(32))
    let answer = try ErrorReply(json: try await bench.ask(late).body).error
    #expect(answer.reason == "COMMAND_TOO_OLD")
    var open = try bench.refreshing(token, id: "open")
    open.refreshToken = SecretField(token)
    let clear = try await bench.error(open, id: "open")
    #expect(clear.code == .invalidArgument && clear.reason == "SEAL_NOT_SEALED")
    #expect(!clear.message.contains(token.reveal()))
    let moved = try await bench.error(bench.refreshing(token, id: "one"), id: "two")
    #expect(moved.reason == "SEAL_MOVED")
    var foreign = try bench.refreshing(token, id: "foreign")
    let key = try PrivateSealingKey.generate(id: "other").publicKey
    foreign.refreshToken = try PublicSealer(key: key).seal(
      token,
      for: SealContext(
        messageType: RefreshSession.type, messageID: "foreign", recipient: AccountCommandFields.recipient))
    #expect(try await bench.error(foreign, id: "foreign").reason == "SEAL_UNKNOWN_KEY")
    var keyless = try bench.refreshing(token, id: "keyless")
    keyless.replyKey = "{}"
    keyless.refreshToken = try PublicSealer(key: bench.secrets.sealingKey.publicKey).seal(
      token,
      for: AccountCommandFields.context(of: RefreshSession.type, messageID: "keyless", replyKey: keyless.replyKey))
    #expect(try await bench.error(keyless, id: "keyless").reason == "SEAL_INVALID_KEY")
  }
}
