import CountersignTelemetry
import JobEngine
import Synchronization
import TestSupport
import Testing

@testable import Push

final class FakeTokenSource: Sendable {
  private struct State {
    var asked: [CheckedContinuation<AccessTokens.Answer, Never>] = []
    var count = 0
  }

  private let state = Mutex(State())
  let clocks = ManualClocks(Sample.now)

  var count: Int { state.withLock { $0.count } }

  func ask() async -> AccessTokens.Answer {
    await withCheckedContinuation { continuation in
      state.withLock { state in
        state.count += 1
        state.asked.append(continuation)
      }
    }
  }

  func answer(_ answer: AccessTokens.Answer) async {
    while true {
      let next = state.withLock { $0.asked.isEmpty ? nil : $0.asked.removeFirst() }
      if let next { return next.resume(returning: answer) }
      try? await Task.sleep(for: .milliseconds(2))
    }
  }

  func give(_ number: Int) async {
    await answer(
      .success(
        AccessToken(text: Secret("t\(number)"), number: number, expiresAt: clocks.monotonic.now() + .seconds(3599))))
  }
}

@Suite(.timeLimit(.minutes(10))) struct AccessTokensTests {
  private let source = FakeTokenSource()
  private let sink = MemorySink()
  private let tokens: AccessTokens

  init() {
    tokens = AccessTokens(clock: source.clocks.monotonic, logger: Logger(label: "test", sink: sink)) { [source] _ in
      await source.ask()
    }
  }

  private func current() async -> String {
    switch await tokens.current() {
    case .success(let token): "\(token.number)"
    case .failure(let failure): failure.classification.short
    }
  }

  private func until(_ condition: () -> Bool) async {
    try? await eventually { condition() }
  }

  @Test func `All who come at once wait for one request`() async {
    let found = await withTaskGroup(of: String.self) { group in
      for _ in 0..<200 { group.addTask { await current() } }
      await until { tokens.waiting == 200 }
      await source.give(1)
      return await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(found == ["1"])
    #expect(await current() == "1")
    #expect(source.count == 1)
    #expect(tokens.given == 1)
    #expect(tokens.failed == 0)
  }

  @Test func `It is renewed before it expires and nobody waits`() async {
    async let first = current()
    await source.give(1)
    #expect(await first == "1")
    source.clocks.advance(by: .seconds(3300))
    for _ in 0..<100 { #expect(await current() == "1") }
    await source.give(2)
    await until { tokens.given == 2 }
    #expect(await current() == "2")
    #expect(source.count == 2)
  }

  @Test func `A failure is told to all who wait`() async {
    let failure = AccessTokenFailure.transient(Reason("TOKEN_UNAVAILABLE", "gone"), after: .seconds(7))
    let found = await withTaskGroup(of: Classification?.self) { group in
      for _ in 0..<50 {
        group.addTask {
          if case .failure(let failure) = await tokens.current() { failure.classification } else { nil }
        }
      }
      await until { tokens.waiting == 50 }
      await source.answer(.failure(failure))
      return await group.reduce(into: Set<Classification?>()) { $0.insert($1) }
    }
    #expect(found == [.retry(Reason("TOKEN_UNAVAILABLE", "gone"), after: .seconds(7))])
    #expect(tokens.failed == 1)
    async let next = current()
    await source.give(2)
    #expect(await next == "2")
  }

  @Test func `A renewal that fails leaves the old one in use`() async {
    async let first = current()
    await source.give(1)
    #expect(await first == "1")
    source.clocks.advance(by: .seconds(3300))
    #expect(await current() == "1")
    await source.answer(.failure(.permanent(Reason("PROVIDER_CREDENTIALS", "fix it"))))
    await until { tokens.failed == 1 }
    await until { !sink.events.isEmpty }
    #expect(await current() == "1")
    #expect(source.count == 2)
    // Nobody else would say so.
    #expect(sink.events.map(\.message) == ["access token cannot be renewed"])
    source.clocks.advance(by: .seconds(290))
    async let last = current()
    await source.answer(.failure(.permanent(Reason("PROVIDER_CREDENTIALS", "fix it"))))
    #expect(await last == "laneDown PROVIDER_CREDENTIALS")
  }

  @Test func `A rejection by many costs one renewal`() async throws {
    async let first = tokens.current()
    await source.give(1)
    let rejected = try await first.get()
    let found = await withTaskGroup(of: String.self) { group in
      for _ in 0..<100 {
        group.addTask {
          tokens.reject(rejected)
          return await current()
        }
      }
      await until { tokens.waiting == 100 }
      await source.give(2)
      return await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(found == ["2"])
    tokens.reject(rejected)
    #expect(await current() == "2")
    #expect(source.count == 2)
  }

  @Test func `A canceled waiter leaves the request to the others`() async {
    let impatient = Task { await current() }
    await until { tokens.waiting == 1 }
    async let patient = current()
    await until { tokens.waiting == 2 }
    impatient.cancel()
    #expect(await impatient.value == "retry TOKEN_UNAVAILABLE")
    #expect(tokens.waiting == 1)
    await source.give(1)
    #expect(await patient == "1")
    #expect(source.count == 1)
  }

  @Test func `A token does not print`() async throws {
    async let first = tokens.current()
    await source.give(1)
    let token = try await first.get()
    #expect(!"\(token)\(String(reflecting: token))".contains("t1"))
  }
}
