import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import PostgreSQL
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import Accounts

@Suite struct SigningKeysTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  private func keys(_ bench: AccountsBench) async throws -> KeysPublished {
    let reply = try await bench.ask(GetKeys(), id: bench.nextID())
    return try KeysPublished(json: reply.body)
  }

  private func events(_ bench: AccountsBench) throws -> [KeysPublished] {
    try bench.sink.takePublished().filter { $0.exchange == Topology.Exchanges.events }.map {
      try KeysPublished(json: $0.message.body)
    }
  }

  private func round(_ bench: AccountsBench) async throws -> [KeysPublished] {
    _ = bench.sink.takePublished()
    await bench.maintenance.tidy()
    await bench.maintenance.publishLeftovers()
    return try events(bench)
  }

  @Test func `The first key signs at once, is published with its certificate, and announced`() async throws {
    #expect(bench.parts.idTokens.keys.health == .ok)
    let key = try #require(bench.parts.idTokens.keys.signing(at: bench.clock.now()))
    let published = try await keys(bench)
    #expect(published.maxAge == 3600 && published.keys.count == 1)
    let public1 = try #require(published.keys.first)
    #expect(public1.id == key.id)
    #expect(public1.n == key.verifying.rsaComponents?.n && public1.e == key.verifying.rsaComponents?.e)
    #expect(public1.certificate.hasPrefix("-----BEGIN CERTIFICATE-----"))
    #expect(try await round(bench).map(\.keys) == [published.keys])
    #expect(try await round(bench).isEmpty, "nothing has changed")
    #expect(try await bench.error(GetKeys(), user: "service").code == .operationNotAllowed)
  }

  @Test func `The next key is published before it signs, and the last one stays until its tokens have expired`()
    async throws
  {
    let ring = bench.parts.idTokens.keys
    _ = try await round(bench)
    func signs() -> String? { ring.signing(at: bench.clock.now())?.id }
    let first = try #require(signs())
    let holder = try await bench.signIn()
    let lead = Duration.seconds(3900)
    bench.clock.advance(by: .seconds(30 * 86_400) - lead - .seconds(1))
    #expect(try await round(bench).isEmpty)
    #expect(try await keys(bench).keys.count == 1)
    bench.clock.advance(by: .seconds(1))
    let announced = try #require(try await round(bench).first)
    #expect(announced.keys.map(\.id).first == first && announced.keys.count == 2)
    let second = try #require(announced.keys.last).id
    #expect(signs() == first)
    bench.clock.advance(by: lead - .milliseconds(1))
    #expect(signs() == first)
    let last = try bench.idToken(of: holder)
    bench.clock.advance(by: .milliseconds(1))
    #expect(signs() == second)
    bench.clock.advance(by: .seconds(3598))
    #expect(try await round(bench).isEmpty)
    let now = bench.clock.now()
    #expect(
      try bench.parts.idTokens.verify(last, project: AccountsBench.project, at: now).localID == holder.account.localID
    )
    // One hour and five minutes after the next one has begun.
    bench.clock.advance(by: .seconds(301))
    #expect(try await keys(bench).keys.count == 2)
    bench.clock.advance(by: .seconds(1))
    #expect(try await keys(bench).keys.map(\.id) == [second])
    #expect(ring.verifying(first, at: bench.clock.now()) == nil)
    #expect(try await round(bench).map { $0.keys.map(\.id) } == [[second]])
    await bench.maintenance.tidy()
    #expect(ring.reading.entries.map(\.id) == [second])
  }

  @Test func `Of two processes that make a key at once, one does; both sign with it`() async throws {
    try await StoreFile.with { file in try await race { try await file.open() } }
  }

  @Test(.onSharedServer) func `On PostgreSQL, too`() async throws {
    let endpoint = try await PrivatePostgreSQL.shared.storeDatabase()
    try await race { try await PostgreSQLStore.open(endpoint) }
  }

  private func race(_ open: @Sendable () async throws -> any Store) async throws {
    let setting = try AccountsBench.Setting()
    let stores = [try await open(), try await open()]
    let rings = (0..<2).map { _ in SigningKeys(ring: setting.secrets.tokenKeys, rules: SigningKeyRules()) }
    let rounds = rings.map {
      SigningKeyMaintenance($0, MetricsRegistry(), Logger(label: "test", sink: MemorySink()))
    }
    func together(at now: UnixTime) async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (round, store) in zip(rounds, stores) { group.addTask { try await round.run(store, at: now) } }
        try await group.waitForAll()
      }
    }
    var now = setting.clock.now()
    for count in 1...3 {
      // The slower one reads at once what the faster one has made.
      try await together(at: now)
      let ids = rings.map { $0.reading.entries.map(\.id) }
      #expect(ids[0] == ids[1] && ids[0].count == count)
      #expect(rings[0].reading.entries.map(\.number) == Array(1...count))
      #expect(rings[0].signing(at: now)?.id == rings[1].signing(at: now)?.id)
      now += .seconds(30 * 86_400)
    }
    for store in stores { await store.close() }
  }

  @Test func `A process that reads the keys no longer signs nothing: another one may have made the next key`()
    async throws
  {
    let setting = try AccountsBench.Setting()
    let instant = Mutex(ContinuousClock.now)
    let rules = SigningKeyRules()
    let ring = SigningKeys(ring: setting.secrets.tokenKeys, rules: rules) { instant.withLock { $0 } }
    let round = SigningKeyMaintenance(
      ring, MetricsRegistry(), Logger(label: "test", sink: MemorySink()))
    try await StoreFile.with { file in
      let store = try await file.open()
      let now = setting.clock.now()
      #expect(!ring.isReady && !ring.isOld)
      try await round.run(store, at: now)
      instant.withLock { $0 += rules.lead }
      #expect(ring.isReady && ring.signing(at: now) != nil && ring.health == .ok)
      instant.withLock { $0 += .seconds(1) }
      #expect(!ring.isReady && ring.isOld && ring.signing(at: now) == nil && ring.health != .ok)
      try await round.run(store, at: now)
      #expect(ring.isReady && ring.signing(at: now) != nil)
    }
  }

  @Test func `A token of one process is verified by the other, and its sessions are refreshed there`() async throws {
    try await AccountsBench.several { setting, start in
      let one = try await start(setting)
      let two = try await start(setting)
      let holder = try await one.signIn()
      let token = try one.idToken(of: holder)
      let verified = try two.verified(token)
      #expect(verified.localID == holder.account.localID)
      let refreshed = try await two.refresh(one.refreshToken(of: holder))
      #expect(try two.verified(refreshed).localID == holder.account.localID)
    }
  }

  // MARK: By an operator

  private func rotate(_ bench: AccountsBench, withdraw: Bool, id: String? = nil) async throws -> KeysRotated {
    let command = RotateKeys(withdraw: withdraw)
    let reply = try await bench.ask(command, id: id ?? bench.nextID(), user: "operator")
    return try KeysRotated(json: reply.body)
  }

  @Test
  func `A rotation before its time takes the way of any: published first, the old key until its tokens have expired`()
    async throws
  {
    _ = try await round(bench)
    let ring = bench.parts.idTokens.keys
    let first = try #require(ring.signing(at: bench.clock.now())).id
    let rotated = try await rotate(bench, withdraw: false)
    #expect(rotated.signsFrom == bench.clock.now() + .seconds(3900) && rotated.withdrawn.isEmpty)
    #expect(try await round(bench).map { $0.keys.map(\.id) } == [[first, rotated.key]])
    #expect(ring.signing(at: bench.clock.now())?.id == first)
    // One is on its way already: a second one would only be in the way.
    #expect(try await rotate(bench, withdraw: false) == rotated)
    bench.clock.advance(by: .seconds(3900))
    #expect(ring.signing(at: bench.clock.now())?.id == rotated.key)
    bench.clock.advance(by: .seconds(3900))
    #expect(try await round(bench).map { $0.keys.map(\.id) } == [[rotated.key]])
  }

  @Test func `A withdrawn key verifies nothing any longer, and sessions go on`() async throws {
    _ = try await round(bench)
    let ring = bench.parts.idTokens.keys
    let first = try #require(ring.signing(at: bench.clock.now())).id
    let holder = try await bench.signIn()
    let token = try bench.idToken(of: holder)
    let rotated = try await rotate(bench, withdraw: true, id: "rotate")
    #expect(rotated.withdrawn == [first] && rotated.signsFrom == bench.clock.now())
    #expect(ring.signing(at: bench.clock.now())?.id == rotated.key, "without a round of the maintenance")
    #expect(try await keys(bench).keys.map(\.id) == [rotated.key])
    #expect(try await round(bench).map { $0.keys.map(\.id) } == [[rotated.key]])
    #expect(ring.signing(at: bench.clock.now())?.id == rotated.key)
    #expect(try await bench.refusal(of: token)?.code == .invalidIDToken)
    let refreshed = try await bench.refresh(bench.refreshToken(of: holder))
    #expect(try bench.verified(refreshed).localID == holder.account.localID)
    // Redelivered, it withdraws nothing that was made since.
    #expect(try await rotate(bench, withdraw: true, id: "rotate") == rotated)
    #expect(try await keys(bench).keys.map(\.id) == [rotated.key])
  }

  @Test func `A withdrawal replaces the key of session cookies as well, if there is one`() async throws {
    let cookieKeys = bench.parts.cookies.keys
    let metric = #"countersign_signing_keys{purpose="session_cookies"}"#
    #expect(cookieKeys.health == .ok && bench.metric(metric) == 0)
    let holder = try await bench.signIn()
    #expect(try code(try await bench.cookie(bench.idToken(of: holder))) == nil)
    let first = try #require(cookieKeys.signing(at: bench.clock.now())?.id)
    _ = try await round(bench)
    #expect(bench.metric(metric) == 1)
    let rotated = try await rotate(bench, withdraw: true)
    #expect(rotated.withdrawn.count == 2 && rotated.withdrawn.last == first)
    let next = try #require(cookieKeys.signing(at: bench.clock.now())?.id)
    #expect(next != first && next != rotated.key, "without a round of the maintenance")
    #expect(try await keys(bench).cookieKeys?.map(\.id) == [next])
    for event in try await round(bench) { #expect(event.cookieKeys?.map(\.id) == [next]) }
    #expect(cookieKeys.signing(at: bench.clock.now())?.id == next && cookieKeys.health == .ok)
  }

  @Test func `Keys that cannot be opened are deleted by a withdrawal only, and only operators may ask for it`()
    async throws
  {
    try await AccountsBench.with { before in
      #expect(try code(try await before.cookie(before.idToken(of: before.signIn()))) == nil)
      var setting = try AccountsBench.Setting()
      (setting.clock, setting.secrets) = (before.clock, before.secrets)
      setting.secrets.use(try KeyRing(sealing: BenchSecrets.key("new")))
      let after = try await AccountsBench(before.context.store, setting)
      #expect(!after.parts.idTokens.keys.isReady)
      for keys in [after.parts.idTokens.keys, after.parts.cookies.keys] { #expect(keys.health != .ok) }
      for user in ["gateway", "service"] {
        #expect(try await after.error(RotateKeys(withdraw: true), user: user).code == .operationNotAllowed)
      }
      #expect(try await after.error(RotateKeys(withdraw: false), user: "operator").reason == "NO_SIGNING_KEY")
      let rotated = try await rotate(after, withdraw: true)
      #expect(rotated.withdrawn.count == 2)
      _ = try await round(after)
      for keys in [after.parts.idTokens.keys, after.parts.cookies.keys] { #expect(keys.health == .ok) }
      #expect(after.parts.idTokens.keys.signing(at: after.clock.now())?.id == rotated.key)
    }
  }

  @Test func `A process that cannot open what took the place of a withdrawn key neither signs with it nor trusts it`()
    async throws
  {
    try await AccountsBench.several { setting, start in
      let before = try await start(setting)
      let holder = try await before.signIn()
      let old = try before.idToken(of: holder)
      setting.secrets.use(try KeyRing(sealing: BenchSecrets.key("new")))
      let after = try await start(setting)
      _ = try await rotate(after, withdraw: true)
      await before.maintenance.tidy()
      #expect(!before.parts.idTokens.keys.isReady && before.parts.idTokens.keys.health != .ok)
      #expect(before.parts.idTokens.keys.signing(at: before.clock.now()) == nil)
      #expect(try await before.refusal(of: old)?.reason == "NO_SIGNING_KEY")
    }
  }

  @Test func `Keys are sealed again under the first token key, so that the old one can go`() async throws {
    let (old, new) = (try BenchSecrets.key("old"), try BenchSecrets.key("new"))
    try await AccountsBench.several { setting, start in
      setting.secrets.use(try KeyRing(sealing: old))
      let before = try await start(setting)
      let id = try #require(before.parts.idTokens.keys.signing(at: setting.clock.now())?.id)
      setting.secrets.use(try KeyRing(sealing: new, others: [old]))
      let during = try await start(setting)
      #expect(during.parts.idTokens.keys.reading.entries.map(\.record.sealedUnder) == ["new"])
      #expect(during.logs.events.contains { $0.message.description.contains("sealed again") })
      // A process that has not the new key yet goes on with what it has opened.
      before.clock.advance(by: .seconds(60))
      await before.maintenance.tidy()
      #expect(before.parts.idTokens.keys.signing(at: setting.clock.now())?.id == id)
      #expect(before.parts.idTokens.keys.health == .ok)
      #expect(before.logs.events.filter { $0.message.description.contains("cannot be opened") }.count == 1)
      setting.secrets.use(try KeyRing(sealing: new))
      let after = try await start(setting)
      #expect(after.parts.idTokens.keys.signing(at: setting.clock.now())?.id == id)
    }
  }

  @Test func `With the wrong token keys nothing is signed, and no key is made`() async throws {
    try await AccountsBench.several { setting, start in
      let before = try await start(setting)
      let holder = try await before.signIn()
      setting.secrets.use(try KeyRing(sealing: BenchSecrets.key("wrong")))
      let after = try await start(setting)
      await after.maintenance.tidy()
      #expect(!after.parts.idTokens.keys.isReady)
      guard case .failing(let what, let hint) = after.parts.idTokens.keys.health else {
        Issue.record("it is ready")
        return
      }
      #expect(what.contains("can be opened") && hint?.contains("tokenKeysFile") == true)
      let id = after.nextID()
      let command = try after.refreshing(before.refreshToken(of: holder), id: id)
      let error = try await after.error(command, id: id)
      #expect(error.reason == "NO_SIGNING_KEY" && error.retryAfter != nil)
      #expect(try await after.error(GetKeys()).reason == "NO_SIGNING_KEY")
      // Nor is a right ID token called wrong: apps would sign their users out.
      #expect(try await after.refusal(of: before.idToken(of: holder))?.reason == "NO_SIGNING_KEY")
      await before.maintenance.tidy()
      #expect(before.parts.idTokens.keys.reading.entries.count == 1)
    }
  }

  @Test func `A key that somebody else has put into the database is not believed`() async throws {
    let now = bench.clock.now()
    let ours = try #require(bench.parts.idTokens.keys.reading.entries.first)
    let foreign = try KeyRing(sealing: SymmetricKey(id: "tokens.1", bytes: SecureRandom.bytes(32)))
    let forged = try SigningKeyRecord.make(number: 2, publishedAt: now, signsFrom: now, sealedUnder: foreign)
    let plain = try #require(RecordID(SigningKeyPurpose.idTokens.kind, "plain"))
    let renamed = try #require(RecordID(SigningKeyPurpose.idTokens.kind, "renamed"))
    try await bench.transact { set throws(StoreError) in
      try forged.store(dueAt: set.now, in: &set)
      // A public key in the clear, and our own row under another name.
      for (id, text) in [(plain, ours.published.certificate), (renamed, ours.record.sealed)] {
        try set.store(
          id, SigningKeyRecord.Sealed(text: text), dueAt: set.now, discardAt: nil,
          groupKeys: [try SigningKeyPurpose.idTokens.group])
      }
    }
    let events = try await round(bench)
    #expect(bench.parts.idTokens.keys.reading.unreadable.count == 3)
    #expect(bench.parts.idTokens.keys.signing(at: now)?.id == ours.id)
    #expect(bench.parts.idTokens.keys.verifying(forged.id.text, at: now) == nil)
    #expect(try await keys(bench).keys.map(\.id) == [ours.id])
    for event in events { #expect(event.keys.map(\.id) == [ours.id]) }
    #expect(bench.logs.events.filter { $0.message.description.contains("cannot be opened") }.count == 3)
    let claims = #"{"sub":"x"}"#
    let token = try JWS.sign(Array(claims.utf8), with: forged.key)
    #expect(throws: APIError.self) {
      try bench.parts.idTokens.verify(Secret(token), project: AccountsBench.project, at: now)
    }
  }

  @Test func `A forged row in the place of the next key does not stop the rotation`() async throws {
    let foreign = try KeyRing(sealing: BenchSecrets.key("foreign"))
    let now = bench.clock.now()
    let forged = try SigningKeyRecord.make(number: 2, publishedAt: now, signsFrom: now, sealedUnder: foreign)
    try await bench.transact { set throws(StoreError) in try forged.store(dueAt: nil, in: &set) }
    bench.clock.advance(by: .seconds(30 * 86_400))
    await bench.maintenance.tidy()
    #expect(bench.parts.idTokens.keys.reading.entries.map(\.number) == [1, 3])
  }
}
