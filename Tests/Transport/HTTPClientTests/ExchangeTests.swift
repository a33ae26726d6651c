import HTTPClient
import HTTPServer
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ExchangeTests {
  private func withServer(
    handler: @escaping @Sendable (HTTPServerRequest) async -> HTTPServerReply,
    test body: (String, HTTPClient) async throws -> Void
  ) async throws {
    let server = try HTTPServer(host: "127.0.0.1", port: 0, maxBodyBytes: 1_048_576, handler: handler)
    let transport = try HTTPClient()
    try await body("http://127.0.0.1:\(server.port)", transport)
    await transport.shutdown()
    await server.stop()
  }

  @Test func `Request arrives as given`() async throws {
    let seen = Mutex<HTTPServerRequest?>(nil)
    try await withServer { request in
      seen.withLock { $0 = request }
      return .respond(HTTPServerResponse(status: 201, headers: ["X-Answer": " a b "], body: Array("made".utf8)))
    } test: { url, transport in
      let response = try await transport.send(
        HTTPRequest(
          method: "POST", url: "\(url)/a/../b?x=1", headers: ["Content-Type": "text/x", "X-Empty": ""],
          body: Array("body".utf8), timeouts: .patient))
      #expect(response.status == 201)
      #expect(response.headers["x-answer"] == "a b")
      #expect(response.body == Array("made".utf8))
      #expect(response.version == .http11)
    }
    let request = try #require(seen.withLock { $0 })
    #expect(request.method == "POST")
    #expect(request.path == "/a/../b")
    #expect(request.parameter("x") == "1")
    #expect(request.body == Array("body".utf8))
    #expect(request.headers["Content-Type"] == "text/x")
    #expect(request.headers["X-Empty"]?.isEmpty == true)
    #expect(request.headers["Expect"] == nil)
    #expect(request.headers["User-Agent"] == "countersign")
  }

  @Test func `Every method is sent with and without a body`() async throws {
    try await withServer { request in
      .respond(HTTPServerResponse(status: 200, text: "\(request.method) \(request.body.count)"))
    } test: { url, transport in
      for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
        for body in [nil, [UInt8](repeating: 65, count: 3), nil] {
          let response = try await transport.send(HTTPRequest(method: method, url: url, body: body, timeouts: .patient))
          #expect(String(decoding: response.body, as: UTF8.self) == "\(method) \(body?.count ?? 0)")
        }
      }
      #expect(try await transport.send(HTTPRequest(method: "HEAD", url: url, timeouts: .patient)).body.isEmpty)
    }
  }

  @Test func `Long bodies pass both ways`() async throws {
    try await withServer {
      .respond(HTTPServerResponse(status: 200, body: $0.body))
    } test: { url, transport in
      let body = (0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let response = try await transport.send(HTTPRequest(method: "POST", url: url, body: body, timeouts: .patient))
      #expect(response.body == body)
    }
  }

  @Test func `Many at once get their own answers`() async throws {
    try await withServer {
      .respond(HTTPServerResponse(status: 200, body: $0.body))
    } test: { url, transport in
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<1_000 {
          group.addTask {
            let body = Array(String(number).utf8)
            let request = HTTPRequest(method: "POST", url: url, body: body, timeouts: .patient)
            return try await transport.send(request).body == body
          }
        }
        for try await isRight in group { #expect(isRight) }
      }
    }
  }

  @Test func `Redirects are not followed`() async throws {
    try await withServer { _ in
      .respond(HTTPServerResponse(status: 302, headers: ["Location": "/elsewhere"]))
    } test: { url, transport in
      let response = try await transport.send(get(url))
      #expect(response.status == 302)
    }
  }

  @Test func `Too long answer fails`() async throws {
    try await withServer { _ in
      .respond(HTTPServerResponse(status: 200, body: [UInt8](repeating: 0, count: 100)))
    } test: { url, transport in
      let exact = try await transport.send(get(url, maxResponseBytes: 100))
      #expect(exact.body.count == 100)
      let error = try await failure(transport, get(url, maxResponseBytes: 99))
      #expect(error.kind == .tooLarge)
      #expect(error.requestMayHaveLeft)
    }
  }

  @Test(
    arguments: [
      HTTPRequest(method: "get", url: "http://localhost/"),
      HTTPRequest(method: "GET", url: "file:///etc/hostname"),
      HTTPRequest(method: "GET", url: "http://localhost/a b"),
      HTTPRequest(method: "GET", url: "http://localhost/", headers: ["X-A": "b\r\nX-C: d"]),
      HTTPRequest(method: "GET", url: "http://localhost/", headers: ["X A": "b"]),
    ])
  func `Malformed request is refused`(_ request: HTTPRequest) async throws {
    let transport = try HTTPClient()
    let error = try await failure(transport, request)
    #expect(error.kind == .invalidRequest)
    #expect(!error.requestMayHaveLeft)
    #expect(!error.isRetriable)
  }
}
