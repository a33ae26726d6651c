import Dispatch
import HTTPClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct PoolTests {
  private static func second(
    _ end: @escaping @Sendable (RawServer.Peer) -> Void
  ) -> @Sendable (RawServer, RawServer.Peer, Int) -> Void {
    { server, peer, _ in
      guard server.read(peer) else { return }
      peer.write(RawServer.ok)
      guard server.read(peer) else { return }
      end(peer)
    }
  }

  @Test func `Connection is used again`() async throws {
    try await withRawServer { server, peer, _ in
      while server.read(peer) { peer.write(RawServer.ok) }
    } test: { server, transport in
      for _ in 0..<5 { _ = try await transport.send(post(server.url)) }
      #expect(server.connections == 1)
      #expect(server.requests.count == 5)
    }
  }

  /// libcurl by itself would send the second request again on a new connection, unseen: two SMS for one.
  @Test(arguments: [true, false])
  func `Post is never sent twice`(withReset: Bool) async throws {
    let script = Self.second { peer in if withReset { peer.reset() } }
    try await withRawServer(script: script) { server, transport in
      _ = try await transport.send(post(server.url))
      let error = try await failure(transport, post(server.url))
      #expect(error.kind == .receive)
      #expect(error.requestMayHaveLeft)
      #expect(error.isRetriable)
      #expect(server.requests.count == 2)
      // The slot is in order again.
      #expect(try await transport.send(post(server.url)).status == 200)
      #expect(server.requests.count == 3)
    }
  }

  @Test func `Idempotent request is sent again`() async throws {
    try await withRawServer(script: Self.second { $0.reset() }) { server, transport in
      _ = try await transport.send(post(server.url))
      #expect(try await transport.send(post(server.url, isIdempotent: true)).status == 200)
      #expect(server.requests.count == 3)
      #expect(server.connections == 2)
    }
  }

  /// The server closed the idle connection before: noticed when it is taken from the pool, and no error.
  @Test(arguments: [true, false])
  func `Stale connection is not used`(withReset: Bool) async throws {
    let answered = DispatchSemaphore(value: 0)
    try await withRawServer { server, peer, number in
      guard server.read(peer) else { return }
      peer.write(RawServer.ok)
      guard number == 1 else { return peer.hang() }
      answered.wait()
      if withReset { peer.reset() }
    } test: { server, transport in
      _ = try await transport.send(post(server.url))
      answered.signal()
      for await _ in server.ends { break }
      _ = try await transport.send(post(server.url))
      #expect(server.requests.count == 2)
      #expect(server.connections == 2)
    }
  }

  @Test func `Connections to one host are limited`() async throws {
    let configuration = HTTPClient.Configuration(maxConcurrent: 8, pool: HTTPClient.Configuration.Pool(maxPerHost: 2))
    try await withRawServer(configuration) { server, peer, _ in
      while server.read(peer) { peer.write(RawServer.ok) }
    } test: { server, transport in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<50 { group.addTask { _ = try await transport.send(post(server.url)) } }
        try await group.waitForAll()
      }
      #expect(server.requests.count == 50)
      #expect(server.connections <= 2)
    }
  }
}
