import HTTPClient
import TestSupport
import Testing

@testable import CommandLine

@Suite struct ManagementHostsTests {
  private func withManagement(
    _ bases: [String], _ body: (CurlManagement) async throws -> Void
  ) async throws {
    let client = try HTTPClient(HTTPClient.Configuration(maxConcurrent: 2, userAgent: "test"))
    try await body(
      CurlManagement(
        transport: client, addresses: bases.map { HTTPAddress(base: $0, credentials: nil) }, timeout: .patience))
    await client.shutdown()
  }

  private func base(_ server: RawServer) -> String { "http://127.0.0.1:\(server.port)" }

  @Test func `The next one is asked when one cannot be reached, and stays the one that is asked first`() async throws {
    let server = RawServer { server, peer, _ in while server.read(peer) { peer.write(RawServer.ok) } }
    defer { server.stop() }
    let dead = RawServer { _, _, _ in }
    defer { dead.stop() }
    try await withManagement([base(dead), base(server)]) { management in
      for _ in 0..<3 {
        let answer = try await management.send("GET", "/api/whoami", body: nil)
        #expect(answer.status == 200)
      }
    }
    #expect(server.requests.count == 3)
    // libcurl repeats a request whose connection was closed without an answer.
    #expect((1...3).contains(dead.connections))
  }

  @Test func `A refusal is an answer`() async throws {
    let refusing = RawServer { server, peer, _ in
      if server.read(peer) { peer.write("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n") }
    }
    defer { refusing.stop() }
    let other = RawServer { _, _, _ in }
    defer { other.stop() }
    try await withManagement([base(refusing), base(other)]) { management in
      let answer = try await management.send("GET", "/api/whoami", body: nil)
      #expect(answer.status == 401)
    }
    #expect(other.connections == 0)
  }

  @Test func `Where none answers, each is named`() async throws {
    try await withManagement(["http://127.0.0.1:1", "http://127.0.0.1:2"]) { management in
      let error = await #expect(throws: CommandLineError.self) {
        _ = try await management.send("GET", "/api/whoami", body: nil)
      }
      #expect(error?.code == .unavailable)
      #expect(error?.description.contains("http://127.0.0.1:1 does not answer") == true)
      #expect(error?.description.contains("http://127.0.0.1:2 does not answer") == true)
    }
  }
}
