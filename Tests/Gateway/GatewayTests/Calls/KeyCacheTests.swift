import CountersignAMQP
import CountersignConcurrency
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Synchronization
import TestSupport
import Testing

@testable import Gateway

@Suite struct KeyCacheTests {
  private static let certificates =
    "/www.googleapis.com/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"
  private static let jwkSet = "/www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"

  private static let cookieCertificates = "/www.googleapis.com/identitytoolkit/v3/relyingparty/publicKeys"

  private static func keys(_ ids: String...) -> KeysPublished {
    KeysPublished(
      keys: ids.map { .init(id: $0, n: "modulus", e: "AQAB", certificate: "-----BEGIN\n\($0)\n") }, maxAge: 3600,
      publishedAt: CallFixture.now)
  }

  @Test func `Keys are shown in both forms`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(GetKeys.self) { _, _ in Self.keys("k1", "k2") }
    let set = try await fixture.answer(Self.jwkSet, .get)
    #expect(set.maxAge == 3600)
    let key: JSONValue = [
      "kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k1", "n": "modulus", "e": "AQAB",
    ]
    #expect(try JSONValue(parsing: set.json)["keys"]?[0] == key)
    #expect(try JSONValue(parsing: set.json)["keys"]?[1]?["kid"] == "k2")
    let map = try await fixture.answer(Self.certificates, .get)
    #expect(try JSONValue(parsing: map.json) == ["k1": "-----BEGIN\nk1\n", "k2": "-----BEGIN\nk2\n"])
    #expect(map.maxAge == 3600 && fixture.services.messages.count == 1)
  }

  @Test func `The first key of session cookies is given out at once, and its absence is kept by nobody`() async throws {
    for path in ["/identitytoolkit.googleapis.com/v1/sessionCookiePublicKeys", Self.cookieCertificates] {
      let fixture = try CallFixture()
      fixture.services.on(GetKeys.self) { _, _ in Self.keys("k1") }
      #expect(try await fixture.answer(path, .get).maxAge == 0)
      fixture.services.on(GetKeys.self) { _, _ in
        var keys = Self.keys("k1")
        keys.cookieKeys = Self.keys("c1").keys
        return keys
      }
      let answer = try await fixture.answer(path, .get)
      #expect(String(decoding: answer.json, as: UTF8.self).contains("c1") && answer.maxAge == 3600)
      let count = fixture.services.messages.count
      _ = try await fixture.answer(path, .get)
      #expect(fixture.services.messages.count == count)
    }
  }

  @Test func `While accounts is away an absence is told without a wait for each`() async throws {
    let source = Source(Self.keys("k1"))
    let cache = source.cache()
    await cache.refresh()
    source.result.withLock { $0 = .failure(.unavailable) }
    for _ in 1...3 {
      let answer = try await cache.currentWithCookieKeys()
      #expect(answer.keys.cookieKeys.isEmpty && answer.maxAge == 0)
    }
    #expect(source.fetches.withLock { $0 } == 2)
  }

  @Test func `While accounts hangs one fetch waits, and keys of ID tokens are given out all the same`() async throws {
    let source = Source(Self.keys("k1"))
    let cache = source.cache()
    await cache.refresh()
    let isOver = Latch()
    source.hanging.withLock { $0 = isOver }
    source.result.withLock { $0 = .failure(.unavailable) }
    try await withThrowingTaskGroup(of: KeyCache.Answer.self) { group in
      // Whatever fails here, they end.
      defer { isOver.open() }
      for _ in 1...20 { group.addTask { try await cache.currentWithCookieKeys() } }
      try await eventually { source.fetches.withLock { $0 } == 2 }
      #expect(try await cache.current().keys.keys.map(\.id) == ["k1"])
      isOver.open()
      for try await answer in group { #expect(answer.keys.cookieKeys.isEmpty && answer.maxAge == 0) }
    }
    #expect(source.fetches.withLock { $0 } == 2)
  }

  @Test func `Without keys verifiers are to try again`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(GetKeys.self) { _, _ in Self.keys() }
    for _ in 1...2 {
      let error = await #expect(throws: ProtocolError.self) { try await fixture.get(Self.jwkSet) }
      #expect(error?.status == 503)
    }
    // The second request came in the pause after the failed fetch.
    #expect(fixture.services.messages.count == 1)
    fixture.services.on(GetKeys.self) { _, _ in Self.keys("k1") }
    fixture.clocks.advance(by: KeyCache.pause)
    #expect(try await fixture.get(Self.jwkSet)["keys"]?[0]?["kid"] == "k1")
  }

  private final class Source: Sendable {
    let clocks = ManualClocks(CallFixture.now)
    let metrics = MetricsRegistry()
    let sink = MemorySink()
    let fetches = Mutex(0)
    let result: Mutex<Result<KeysPublished, ProtocolError>>
    /// Fetches wait for it while it is there.
    let hanging = Mutex<Latch?>(nil)
    let hold: @Sendable () async -> Void

    init(_ keys: KeysPublished, hold: @escaping @Sendable () async -> Void = {}) {
      result = Mutex(.success(keys))
      self.hold = hold
    }

    func cache() -> KeyCache {
      KeyCache(
        clock: clocks.monotonic, log: Logger(label: "keys", sink: sink, clock: clocks.wall), metrics: metrics
      ) { () async throws(ProtocolError) -> KeysPublished in
        self.fetches.withLock { $0 += 1 }
        await self.hold()
        await self.hanging.withLock { $0 }?.wait()
        return try self.result.withLock { $0 }.get()
      }
    }
  }

  @Test func `The last good keys are given out while none come, with a short life once they are old`()
    async throws
  {
    let source = Source(Self.keys("k1"))
    let cache = source.cache()
    #expect(!cache.isFilled)
    await cache.refresh()
    #expect(cache.isFilled)
    for failure in [Result<KeysPublished, ProtocolError>.failure(.unavailable), .success(Self.keys())] {
      source.result.withLock { $0 = failure }
      await cache.refresh()
      #expect(try await cache.current().keys.keys.map(\.id) == ["k1"])
    }
    source.clocks.advance(by: KeyCache.freshness)
    #expect(try await cache.current().maxAge == 3600)
    source.clocks.advance(by: .seconds(1))
    #expect(try await cache.current().maxAge == KeyCache.staleMaxAge)
    source.result.withLock { $0 = .success(Self.keys("k1", "k2")) }
    await cache.refresh()
    #expect(try await cache.current().keys.keys.map(\.id) == ["k1", "k2"])
    #expect(try await cache.current().maxAge == 3600)
    #expect(source.metrics.render().contains("countersign_gateway_key_fetch_failures_total 2"))
    #expect(source.sink.events.filter { $0.level == .warning }.count == 1)
  }

  @Test func `Requests at the same time share one fetch`() async throws {
    let source = Source(Self.keys("k1")) { try? await Task.sleep(for: .milliseconds(100)) }
    let cache = source.cache()
    await withTaskGroup(of: Bool.self) { group in
      for _ in 1...20 { group.addTask { (try? await cache.current()) != nil } }
      for await isFound in group { #expect(isFound) }
    }
    #expect(source.fetches.withLock { $0 } == 1)
  }

  @Test func `The service fetches at its start and ends when it is stopped`() async throws {
    let source = Source(Self.keys("k1"))
    let cache = source.cache()
    async let running: Void = cache.run()
    try await eventually { cache.isFilled }
    await cache.stop()
    await running
    #expect(source.fetches.withLock { $0 } == 1)
  }

  @Test func `An event has the keys fetched at once; other messages do not`() async throws {
    let source = Source(Self.keys("k1"))
    let cache = source.cache()
    await cache.refresh()
    let messages = MemoryMessageSource([
      [Delivery(message: Message(type: "account.created.v1"))],
      [Delivery(message: Message(type: "keys.published.v1")), Delivery(message: Message(type: "keys.published.v1"))],
    ])
    source.result.withLock { $0 = .success(Self.keys("k1", "k2")) }
    await KeyEvents(source: messages, cache: cache, log: Logger(label: "keys", sink: source.sink)).run()
    #expect(try await cache.current().keys.keys.map(\.id) == ["k1", "k2"])
    #expect(source.fetches.withLock { $0 } == 2 && messages.ackedCount == 3)
  }

  @Test func `A fetch that was under way when the keys changed is followed by another`() async throws {
    let isChanged = Latch()
    let isAnswered = Latch()
    let source = Source(Self.keys("k1")) { await isAnswered.wait() }
    let cache = source.cache()
    async let first: Void = cache.refresh()
    try await eventually { source.fetches.withLock { $0 } > 0 }
    async let second: Void = {
      isChanged.open()
      await cache.refreshAfterChange()
    }()
    await isChanged.wait()
    isAnswered.open()
    await first
    await second
    #expect(source.fetches.withLock { $0 } == 2)
  }
}
