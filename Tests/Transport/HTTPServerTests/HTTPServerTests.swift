import HTTPServer
import Synchronization
import TestSupport
import Testing

func withServer(
  maxBodyBytes: Int = 1_024, handler: @escaping @Sendable (HTTPServerRequest) async -> HTTPServerReply,
  test body: (HTTPServer) async throws -> Void
) async throws {
  let server = try HTTPServer(host: "127.0.0.1", port: 0, maxBodyBytes: maxBodyBytes, handler: handler)
  do { try await body(server) } catch {
    await server.stop()
    throw error
  }
  await server.stop()
}

@Suite(.timeLimit(.minutes(10)))
struct HTTPServerTests {
  @Test func `Request reaches the handler decoded`() async throws {
    let seen = Mutex<HTTPServerRequest?>(nil)
    try await withServer { request in
      seen.withLock { $0 = request }
      return .respond(HTTPServerResponse(status: 201, contentType: "application/json", text: "{}"))
    } test: { server in
      let answer = await RawClient.get(
        port: server.port, "/a%20b/c?to=%2B1415&x=1+2&flag", headers: ["X-Thing: One", "Content-Length: 0"])
      #expect(answer.status == 201)
      #expect(answer.body == "{}")
      #expect(answer.text.contains("Content-Type: application/json\r\n"))
    }
    let request = try #require(seen.withLock { $0 })
    #expect(request.method == "GET")
    #expect(request.path == "/a b/c")
    #expect(request.target == "/a%20b/c?to=%2B1415&x=1+2&flag")
    #expect(request.query.map(\.name) == ["to", "x", "flag"])
    #expect(request.parameter("to") == "+1415")
    #expect(request.parameter("x") == "1 2")
    #expect(request.parameter("flag")?.isEmpty == true)
    #expect(request.headers["x-thing"] == "One")
    #expect(request.remoteAddress == "127.0.0.1")
  }

  @Test func `Body arrives whole`() async throws {
    try await withServer(maxBodyBytes: 300_000) { request in
      .respond(HTTPServerResponse(status: 200, body: request.body))
    } test: { server in
      let body = String(repeating: "0123456789", count: 20_000)
      let answer = await RawClient.exchange(
        port: server.port,
        "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
      #expect(answer.status == 200)
      #expect(answer.body == body)
    }
  }

  @Test func `Chunked body arrives whole`() async throws {
    try await withServer { request in
      .respond(HTTPServerResponse(status: 200, body: request.body))
    } test: { server in
      let answer = await RawClient.exchange(
        port: server.port,
        "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
      )
      #expect(answer.body == "abcde")
    }
  }

  @Test func `Too long body never reaches the handler`() async throws {
    let calls = Mutex(0)
    try await withServer(maxBodyBytes: 4) { _ in
      calls.withLock { $0 += 1 }
      return .close
    } test: { server in
      let declared = await RawClient.exchange(
        port: server.port, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nabcde")
      #expect(declared.status == 413)
      let chunked = await RawClient.exchange(
        port: server.port,
        "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n")
      #expect(chunked.status == 413)
    }
    #expect(calls.withLock { $0 } == 0)
  }

  @Test func `Reset and close are tellable apart`() async throws {
    try await withServer {
      $0.path == "/reset" ? .reset : .close
    } test: { server in
      #expect(await RawClient.get(port: server.port, "/reset") == RawAnswer(text: "", end: .reset))
      #expect(await RawClient.get(port: server.port, "/close") == RawAnswer(text: "", end: .orderly))
    }
  }

  @Test func `Kept connection serves several requests`() async throws {
    let calls = Mutex(0)
    try await withServer { _ in
      let call = calls.withLock { calls in
        calls += 1
        return calls
      }
      return .respond(HTTPServerResponse(status: 200, text: "answer \(call)"))
    } test: { server in
      let answer = await RawClient.exchange(
        port: server.port,
        "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      #expect(answer.text.contains("answer 1"))
      #expect(answer.text.contains("answer 2"))
    }
  }

  @Test func `Slow handler does not hold up others`() async throws {
    let (gate, opener) = AsyncStream<Void>.makeStream()
    try await withServer { request in
      if request.path == "/slow" { for await _ in gate { break } }
      return .respond(HTTPServerResponse(status: 200, text: request.path))
    } test: { server in
      async let slow = RawClient.get(port: server.port, "/slow")
      #expect(await RawClient.get(port: server.port, "/fast").body == "/fast")
      opener.yield()
      #expect(await slow.body == "/slow")
    }
  }

  @Test func `Many clients at once`() async throws {
    try await withServer { request in
      await Task.yield()
      return .respond(HTTPServerResponse(status: 200, text: request.parameter("n") ?? ""))
    } test: { server in
      await withTaskGroup(of: Bool.self) { group in
        for number in 0..<200 {
          group.addTask { await RawClient.get(port: server.port, "/?n=\(number)").body == String(number) }
        }
        for await isRight in group { #expect(isRight) }
      }
    }
  }

  @Test func `Invalid answer becomes500`() async throws {
    try await withServer { request in
      request.path == "/header"
        ? .respond(HTTPServerResponse(status: 200, headers: ["X-Bad": "a\r\nSet-Cookie: b"]))
        : .respond(HTTPServerResponse(status: 99))
    } test: { server in
      #expect(await RawClient.get(port: server.port, "/header").status == 500)
      #expect(await RawClient.get(port: server.port, "/status").status == 500)
    }
  }

  @Test func `Port in use is said`() async throws {
    try await withServer { _ in
      .close
    } test: { server in
      let error = #expect(throws: HTTPServerError.self) {
        _ = try HTTPServer(host: "127.0.0.1", port: server.port, maxBodyBytes: 1) { _ in .close }
      }
      #expect(error?.code == .portInUse)
      #expect(error?.description.contains("127.0.0.1:\(server.port)") == true)
    }
  }

  @Test func `Address of another machine is said`() {
    let error = #expect(throws: HTTPServerError.self) {
      _ = try HTTPServer(host: "192.0.2.1", port: 0, maxBodyBytes: 1) { _ in .close }
    }
    #expect(error?.code == .addressNotAvailable)
  }

  @Test func `Stop lets handlers end within the grace`() async throws {
    let (started, starter) = AsyncStream<Void>.makeStream()
    let (gate, opener) = AsyncStream<Void>.makeStream()
    let server = try HTTPServer(host: "127.0.0.1", port: 0, maxBodyBytes: 1) { _ in
      starter.yield()
      for await _ in gate { break }
      return .respond(HTTPServerResponse(status: 200, text: "done"))
    }
    async let answer = RawClient.get(port: server.port, "/")
    for await _ in started { break }
    async let stopped: Void = server.stop(grace: .seconds(30))
    opener.yield()
    _ = await stopped
    #expect(await answer.body == "done")
  }

  @Test func `A grace that is over at once closes every request before the server ends`() async throws {
    for _ in 0..<20 {
      let (started, starter) = AsyncStream<Void>.makeStream()
      let server = try HTTPServer(host: "127.0.0.1", port: 0, maxBodyBytes: 1) { _ in
        starter.yield()
        try? await Task.sleep(for: .seconds(600))
        return .close
      }
      await withTaskGroup { group in
        let port = server.port
        for _ in 0..<16 { group.addTask { _ = await RawClient.get(port: port, "/") } }
        var count = 0
        for await _ in started {
          count += 1
          if count == 16 { break }
        }
        await server.stop(grace: .zero)
      }
    }
  }

  @Test func `Stop cancels handlers after the grace and is repeatable`() async throws {
    let (started, starter) = AsyncStream<Void>.makeStream()
    let server = try HTTPServer(host: "127.0.0.1", port: 0, maxBodyBytes: 1) { _ in
      starter.yield()
      try? await Task.sleep(for: .seconds(600))
      return .close
    }
    async let answer = RawClient.get(port: server.port, "/")
    for await _ in started { break }
    await server.stop(grace: .milliseconds(50))
    await server.stop()
    #expect(await answer.text.isEmpty)
  }

  @Test func `A request that does not end is ended and one that is handled is not`() async throws {
    let told = Mutex<[HTTPServerTurnedAway]>([])
    let server = try HTTPServer(
      host: "127.0.0.1", port: 0, maxBodyBytes: 1024,
      limits: HTTPServerLimits(requestTime: .milliseconds(300)),
      turnedAway: { reason in told.withLock { $0.append(reason) } },
      handler: { _ in
        // Longer than a request may take: the client is not the one who is slow.
        try? await eventually { told.withLock { !$0.isEmpty } }
        return .respond(HTTPServerResponse(status: 200, text: "ok"))
      })
    async let whole = RawClient.get(port: server.port, "/")
    let half = await RawClient.exchange(
      port: server.port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf")
    #expect(half == RawAnswer(text: "", end: .orderly))
    #expect(await whole.status == 200)
    #expect(told.withLock { $0 } == [.late])
    await server.stop()
  }

  @Test func `A request line that does not end is ended and an idle connection is not late`() async throws {
    let told = Mutex<[HTTPServerTurnedAway]>([])
    let server = try HTTPServer(
      host: "127.0.0.1", port: 0, maxBodyBytes: 1024,
      limits: HTTPServerLimits(idleTimeout: .seconds(4), requestTime: .milliseconds(100)),
      turnedAway: { reason in told.withLock { $0.append(reason) } },
      handler: { _ in .respond(HTTPServerResponse(status: 200, text: "ok")) })
    // Kept open for a second request, and closed for its silence.
    async let kept = RawClient.exchange(port: server.port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    async let silent = RawClient.exchange(port: server.port, "")
    let half = await RawClient.exchange(port: server.port, "GET / HT")
    #expect(half == RawAnswer(text: "", end: .orderly))
    #expect(told.withLock { $0 } == [.late])
    let answers = await [kept, silent]
    #expect(answers.map(\.status) == [200, nil])
    #expect(answers.allSatisfy { $0.end == .orderly })
    #expect(told.withLock { $0 } == [.late])
    await server.stop()
  }

  @Test func `A client with too many connections is turned away`()
    async throws
  {
    let told = Mutex<[HTTPServerTurnedAway]>([])
    let server = try HTTPServer(
      host: "127.0.0.1", port: 0, maxBodyBytes: 1024,
      limits: HTTPServerLimits(connectionsPerClient: 1), turnedAway: { reason in told.withLock { $0.append(reason) } },
      handler: { _ in
        // Until the other one was turned away.
        try? await eventually { told.withLock { !$0.isEmpty } }
        return .respond(HTTPServerResponse(status: 200, text: "ok"))
      })
    async let first = RawClient.get(port: server.port, "/")
    async let second = RawClient.get(port: server.port, "/")
    let statuses = await [first.status, second.status]
    #expect(statuses.compactMap(\.self) == [200])
    #expect(told.withLock { $0 } == [.client])
    // The server may notice the end of the first one a moment after its client.
    var status: Int?
    while status == nil { status = await RawClient.get(port: server.port, "/").status }
    #expect(status == 200)
    await server.stop()
  }

  @Test func `A proxy has as many connections as it likes`() async throws {
    let inside = Mutex(0)
    let server = try HTTPServer(
      host: "127.0.0.1", port: 0, maxBodyBytes: 1024,
      limits: HTTPServerLimits(connectionsPerClient: 1, isProxy: { $0 == "127.0.0.1" }),
      turnedAway: { reason in Issue.record("turned away: \(reason)") },
      handler: { _ in
        // Until all are there at once.
        inside.withLock { $0 += 1 }
        try? await eventually { inside.withLock { $0 == 3 } }
        return .respond(HTTPServerResponse(status: 200, text: "ok"))
      })
    async let first = RawClient.get(port: server.port, "/")
    async let second = RawClient.get(port: server.port, "/")
    async let third = RawClient.get(port: server.port, "/")
    #expect(await [first.status, second.status, third.status] == [200, 200, 200])
    await server.stop()
  }
}
