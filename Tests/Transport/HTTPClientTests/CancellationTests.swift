import HTTPClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct CancellationTests {
  private func withSilentServer(
    _ configuration: HTTPClient.Configuration = HTTPClient.Configuration(),
    test body: @escaping (RawServer, HTTPClient, AsyncStream<Void>) async throws -> Void
  ) async throws {
    let (seen, seer) = AsyncStream<Void>.makeStream()
    try await withRawServer(configuration) { server, peer, _ in
      guard server.read(peer) else { return }
      seer.yield()
      peer.hang()
    } test: { server, transport in
      try await body(server, transport, seen)
    }
  }

  private func wait(_ stream: AsyncStream<Void>) async {
    for await _ in stream { break }
  }

  @Test func `Canceled under way`() async throws {
    try await withSilentServer { server, transport, seen in
      let task = Task { try await failure(transport, post(server.url)) }
      await wait(seen)
      task.cancel()
      let error = try await task.value
      #expect(error.kind == .canceled)
      #expect(error.requestMayHaveLeft)
    }
  }

  @Test func `Canceled before`() async throws {
    try await withSilentServer { server, transport, _ in
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await failure(transport, post(server.url))
      }
      let error = try await task.value
      #expect(error.kind == .canceled)
      #expect(!error.requestMayHaveLeft)
      #expect(server.requests.isEmpty)
    }
  }

  @Test func `Waiting requests never left`() async throws {
    let configuration = HTTPClient.Configuration(maxConcurrent: 1, maxWaiting: 2)
    try await withSilentServer(configuration) { server, transport, seen in
      let first = Task { try await failure(transport, post(server.url)) }
      await wait(seen)
      let timeouts = HTTPTimeouts(total: .milliseconds(100))
      let late = try await failure(transport, post(server.url, timeouts: timeouts))
      #expect(late.kind == .timedOut(.waiting))
      #expect(!late.requestMayHaveLeft)

      let second = Task { try await failure(transport, post(server.url)) }
      second.cancel()
      let canceled = try await second.value
      #expect(canceled.kind == .canceled)
      #expect(!canceled.requestMayHaveLeft)
      first.cancel()
      #expect(try await first.value.requestMayHaveLeft)
      #expect(server.requests.count == 1)
    }
  }

  @Test func `More waiting requests than the limit are refused`()
    async throws
  {
    let configuration = HTTPClient.Configuration(maxConcurrent: 1, maxWaiting: 0)
    try await withSilentServer(configuration) { server, transport, seen in
      let first = Task { try await failure(transport, post(server.url)) }
      await wait(seen)
      let error = try await failure(transport, post(server.url))
      #expect(error.kind == .overloaded)
      #expect(!error.requestMayHaveLeft)
      first.cancel()
      _ = try await first.value
    }
  }

  @Test func `Shutdown ends everything`() async throws {
    let configuration = HTTPClient.Configuration(maxConcurrent: 1)
    try await withSilentServer(configuration) { server, transport, seen in
      let running = Task { try await failure(transport, post(server.url)) }
      await wait(seen)
      let waiting = Task { try await failure(transport, post(server.url)) }
      await transport.shutdown()
      await transport.shutdown()
      let begun = try await running.value
      #expect(begun.kind == .closed)
      #expect(begun.requestMayHaveLeft)
      let unbegun = try await waiting.value
      #expect(unbegun.kind == .closed)
      #expect(!unbegun.requestMayHaveLeft)
      #expect(try await failure(transport, post(server.url)).kind == .closed)
    }
  }
}
