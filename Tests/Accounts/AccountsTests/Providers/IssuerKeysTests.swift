import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import Synchronization
import TestSupport
import Testing

@testable import Accounts

@Suite("Keys of issuers", .timeLimit(.minutes(10))) struct IssuerKeysTests {
  let bench: ProviderBench
  let keys: IssuerKeys

  init() throws {
    bench = try ProviderBench()
    keys = IssuerKeys(of: "apple.com", at: ProviderBench.appleKeys, bench.context())
  }

  private func find(_ id: String) async -> Result<String?, APIError> {
    do throws(APIError) { return .success(try await keys.key(id).id) } catch { return .failure(error) }
  }

  private func error(_ id: String) async -> APIError? {
    if case .failure(let error) = await find(id) { error } else { nil }
  }

  private var fetches: Int { bench.requests.count }

  @Test func `Keys are fetched when the first is needed, and again when they are stale`() async throws {
    bench.publish(headers: ["Cache-Control": "public, max-age=120, must-revalidate"])
    for _ in 0..<5 { #expect(await find("key-1") == .success("key-1")) }
    #expect(fetches == 1)
    bench.clocks.advance(by: .seconds(119))
    #expect(await find("key-1") == .success("key-1") && fetches == 1)
    bench.clocks.advance(by: .seconds(1))
    #expect(await find("key-1") == .success("key-1"))
    #expect(fetches == 2)
  }

  @Test func `Fetches and failures are counted from 0, so that an alert sees the first`() {
    for outcome in ["ok", "unreachable", "status", "unreadable"] {
      for provider in ["apple.com", "oidc"] {
        #expect(bench.metrics.render().contains(#"{provider="\#(provider)",outcome="\#(outcome)"} 0"#))
      }
    }
  }

  @Test(arguments: [
    ("max-age=1", 60), ("max-age=999999999", 86_400), ("no-store", 60), ("max-age=x", 3600), ("", 3600),
    ("max-age=99999999999999999999", 3600),
  ])
  func `The life of keys has bounds`(_ header: String, _ seconds: Int) throws {
    let body = JSONValue.object(["keys": [ProviderBench.jwk(bench.key)]]).json()
    let set = try #require(
      KeySet(HTTPResponse(status: 200, headers: ["Cache-Control": header], body: Array(body.utf8))))
    #expect(set.life == .seconds(seconds))
  }

  @Test func `Keys that rotate are found at once, after a pause, and those that vanish count no longer`() async throws {
    bench.publish()
    #expect(await find("key-1") == .success("key-1"))
    let next = try SigningKey.generateRSA(id: "key-2")
    bench.publish([next])
    #expect(await error("key-2")?.code == .invalidIDPResponse, "within the pause")
    bench.clocks.advance(by: .seconds(10))
    #expect(await find("key-2") == .success("key-2") && fetches == 2)
    #expect(await error("key-1")?.code == .invalidIDPResponse && fetches == 2)
  }

  @Test func `A flood of unknown key IDs costs a fetch in ten seconds, and stops nobody`() async throws {
    bench.publish()
    #expect(await find("key-1") == .success("key-1"))
    for second in 0..<30 {
      for index in 0..<20 { #expect(await error("unknown-\(second)-\(index)")?.code == .invalidIDPResponse) }
      #expect(await find("key-1") == .success("key-1"))
      bench.clocks.advance(by: .seconds(1))
    }
    #expect(fetches == 3)
  }

  @Test func `Callers at the same time wait for one fetch; one whose key is known does not wait`() async throws {
    bench.publish()
    #expect(await find("key-1") == .success("key-1"))
    bench.clocks.advance(by: .seconds(10))
    let next = try SigningKey.generateRSA(id: "key-2")
    let gate = Gate()
    let body = Array(JSONValue.object(["keys": [ProviderBench.jwk(bench.key), ProviderBench.jwk(next)]]).json().utf8)
    bench.answer(ProviderBench.appleKeys) { _ throws(TransportError) in
      await gate.pass()
      return HTTPResponse(status: 200, body: body)
    }
    await withTaskGroup(of: Result<String?, APIError>.self) { group in
      for _ in 0..<20 { group.addTask { await find("key-2") } }
      await gate.waitUntilReached()
      #expect(await find("key-1") == .success("key-1"))
      gate.open()
      for await result in group { #expect(result == .success("key-2")) }
    }
    #expect(fetches == 2)
  }

  @Test func `While fetches fail known keys serve for a day, and unknown ones are not called wrong`() async throws {
    bench.publish()
    #expect(await find("key-1") == .success("key-1"))
    bench.answer(ProviderBench.appleKeys, status: 503, [:])
    bench.clocks.advance(by: .seconds(3600))
    #expect(await find("key-1") == .success("key-1"))
    try await eventually { fetches == 2 }
    try await eventually { bench.metrics.render().contains(#"{provider="apple.com",outcome="status"} 1"#) }
    let error = await error("key-2")
    #expect(error?.reason == "PROVIDER_UNREACHABLE" && error?.retryAfter == 10)
    bench.clocks.advance(by: .seconds(86_400 - 1))
    #expect(await find("key-1") == .success("key-1"))
    bench.clocks.advance(by: .seconds(10))
    #expect(await self.error("key-1")?.reason == "PROVIDER_UNREACHABLE", "too old")
    bench.publish()
    bench.clocks.advance(by: .seconds(10))
    #expect(await find("key-1") == .success("key-1"))
    #expect(bench.logs.lines().filter { $0.contains("cannot be fetched") }.count == 1)
  }

  @Test func `After a failure one caller waits for the next fetch, and the others are told at once`() async throws {
    #expect(await error("key-1")?.reason == "PROVIDER_UNREACHABLE")
    bench.clocks.advance(by: .seconds(10))
    let gate = Gate()
    bench.answer(ProviderBench.appleKeys) { _ throws(TransportError) in
      await gate.pass()
      return HTTPResponse(status: 503)
    }
    async let waiting = error("key-1")
    await gate.waitUntilReached()
    #expect(await error("key-1")?.reason == "PROVIDER_UNREACHABLE" && fetches == 2)
    gate.open()
    #expect(await waiting?.reason == "PROVIDER_UNREACHABLE" && fetches == 2)
  }

  @Test func `Without any key a provider that does not answer is told from a wrong token`() async throws {
    #expect(await error("key-1")?.reason == "PROVIDER_UNREACHABLE")
    #expect(await error("key-1")?.reason == "PROVIDER_UNREACHABLE" && fetches == 1)
    for json: JSONValue in [[:], ["keys": []], ["keys": [["kty": "EC"]]], ["keys": "x"], []] {
      bench.answer(ProviderBench.appleKeys, json)
      bench.clocks.advance(by: .seconds(10))
      #expect(await error("key-1")?.reason == "PROVIDER_UNREACHABLE")
    }
    #expect(bench.metrics.render().contains(#"{provider="apple.com",outcome="unreadable"} 5"#))
  }

  @Test func `Of a set the keys for RS256 count, and no more than 64`() throws {
    let good = ProviderBench.jwk(bench.key)
    var others: [JSONValue] = [["kty": "RSA"], "x", ["kty": "RSA", "kid": "short", "n": "AQAB", "e": "AQAB"]]
    others.append(.object((good.members ?? [:]).merging(["kid": "for sealing", "use": "enc"]) { $1 }))
    let set = try #require(
      KeySet(HTTPResponse(status: 200, body: Array(JSONValue.object(["keys": .array(others + [good])]).json().utf8))))
    #expect(set.keys.keys.sorted() == ["key-1"])
    let strangers = Array(repeating: JSONValue.object(["kty": "x"]), count: 64)
    let late = JSONValue.object(["keys": .array(strangers + [good])]).json()
    #expect(KeySet(HTTPResponse(status: 200, body: Array(late.utf8))) == nil)
  }
}

/// Holds back an answer until it is opened.
private final class Gate: Sendable {
  private let state = Mutex<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

  func pass() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }

  func waitUntilReached() async {
    while state.withLock({ $0.waiting.isEmpty }) { await Task.yield() }
  }

  func open() {
    let waiting = state.withLock { state in
      defer { state = (true, []) }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}
