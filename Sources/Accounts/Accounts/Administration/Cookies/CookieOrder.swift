import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `session.createCookie`: a session cookie for an ID token that is valid.
struct CookieOrder: KeyedOrder {
  private static let act = CreateSessionCookie.type.name

  let fingerprints: Fingerprints
  private let project: String
  private let check: AdministratorCheck
  private let caller: IDTokenCheck
  private let life: Duration
  private let seal: ReplySeal
  private let made = Once<IDTokenCheck.Holder, SecretField>()
  private let cookies: SessionCookies
  private let rules: SessionRules

  init(
    _ command: CreateSessionCookie, _ envelope: Envelope, at now: UnixTime, _ parts: AccountParts
  ) throws(APIError) {
    let (reader, key) = (parts.reader, command.replyKey)
    project = command.project
    check = try AdministratorCheck(
      bearer: command.bearer, project: command.project, role: .tokens, of: envelope, replyKey: key, reader)
    seal = try ReplySeal(key: key, envelope, SessionCookieCreated.type)
    guard SessionCookies.lives.contains(command.validFor) else {
      let lives = SessionCookies.lives
      throw APIError(
        .invalidDuration, "a session cookie is valid for \(lives.lowerBound) to \(lives.upperBound) seconds",
        field: "validFor")
    }
    life = .seconds(command.validFor)
    let text = try reader.open(command.idToken, "idToken", of: envelope, replyKey: key)
    caller = IDTokenCheck(token: try reader.idTokens.verify(text, project: command.project, at: now))
    (cookies, rules) = (parts.cookies, parts.rules.sessions)
    fingerprints = reader.fingerprints(
      of: command, [command.project, text.reveal(), String(command.validFor)])
  }

  /// Makes the first key, which takes a tenth of a second and more.
  var stage: CommandStage? {
    guard !cookies.keys.isReady else { return nil }
    return CommandStage { [self] access throws(StoreError) in
      let caller = try await access.store.read(StoreKeys(), at: access.now()) { [check] set throws(StoreError) in
        try check.administrator(in: set)
      }
      if case .success = caller { try await cookies.maintenance.run(access.store, at: access.now()) }
      return self
    }
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    check.addKeys(to: &keys)
    caller.addKeys(to: &keys)
    if let name = check.name {
      keys.add(record: try ActRecord.hourly(Self.act, by: name, project: project, at: now).place)
    }
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let administrator: Administrator
    switch try check.administrator(in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): administrator = found
    }
    switch try caller.holder(in: set, rules) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let holder):
      guard let cookie = try cookies.cookie(of: holder, validFor: life, at: set.now) else {
        return CommandAnswer(.noSigningKey)
      }
      let field = try made.value(of: holder) { () throws(StoreError) in try seal.seal(cookie) }
      try ActRecord.noteHourly(Self.act, by: administrator, project: project, cause: envelope, in: &set)
      return try CommandAnswer(SessionCookieCreated(cookie: field))
    }
  }
}
