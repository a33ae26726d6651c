import CountersignConcurrency
import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import HTTPClient

private let half = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"

@Suite(.timeLimit(.minutes(10)))
struct FailureTests {
  private let transport: HTTPClient

  init() throws { transport = try HTTPClient() }

  @Test func `Refused connection`() async throws {
    let error = try await failure(transport, post("http://127.0.0.1:\(refusingPort)/secret?token=1"))
    #expect(error.kind == .connect)
    #expect(!error.requestMayHaveLeft)
    #expect(error.isRetriable)
    #expect(!error.description.contains("token"))
  }

  /// A label of more than 63 characters never reaches a name server (RFC 1035, section 2.3.4).
  @Test func `An unknown host fails before anything is sent`() async throws {
    let error = try await failure(transport, post("http://\(String(repeating: "x", count: 70)).invalid/"))
    #expect(error.kind == .resolve)
    #expect(!error.requestMayHaveLeft)
  }

  /// A backlog that is full: the kernel drops further SYNs.
  @Test func `A connect timeout fails before anything is sent`() async throws {
    let listener = RawServer.listen(backlog: 0)
    defer { close(listener) }
    var address = RawServer.loopback(port: RawServer.port(of: listener))
    let fillers = (0..<4).map { _ in
      let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
      withUnsafeBytes(of: &address) { bytes in
        _ = connect(filler, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
      }
      return filler
    }
    defer { for filler in fillers { close(filler) } }
    let url = "http://127.0.0.1:\(RawServer.port(of: listener))/"
    let error = try await failure(transport, post(url, timeouts: HTTPTimeouts(connect: .milliseconds(100))))
    #expect(error.kind == .timedOut(.connect))
    #expect(!error.requestMayHaveLeft)
  }

  @Test func `Plain server behind HTTPS`() async throws {
    try await withRawServer { _, peer, _ in
      peer.write("HTTP/1.1 400 Bad Request\r\n\r\n")
    } test: { server, transport in
      let error = try await failure(transport, post("https://127.0.0.1:\(server.port)/"))
      #expect(error.kind == .tls)
      #expect(!error.requestMayHaveLeft)
    }
  }

  @Test func `Handshake timeout`() async throws {
    try await withRawServer { _, peer, _ in
      peer.hang()
    } test: { server, transport in
      let timeouts = HTTPTimeouts(connect: .seconds(2))
      let error = try await failure(transport, post("https://127.0.0.1:\(server.port)/", timeouts: timeouts))
      #expect(error.kind == .timedOut(.tls))
      #expect(!error.requestMayHaveLeft)
    }
  }

  /// As after a SIGSTOP: the loop comes to its time-outs late, and finds the answer.
  @Test func `An answer that arrived during a standstill is taken`()
    async throws
  {
    let transport = try HTTPClient()
    let server = RawServer { server, peer, _ in
      _ = server.read(peer)
      let frozen = DispatchSemaphore(value: 0)
      let awake = DispatchSemaphore(value: 0)
      transport.loop.executor.queue.async {
        frozen.signal()
        awake.wait()
      }
      frozen.wait()
      peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      sleep(3)
      awake.signal()
      peer.hang()
    }
    defer { server.stop() }
    let timeouts = HTTPTimeouts(connect: .patience, firstByte: .seconds(2), total: .patience)
    let response = try await transport.send(post(server.url, timeouts: timeouts))
    #expect(response.status == 200)
    await transport.shutdown()
  }

  struct Fault: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let kind: TransportError.Kind?
    var timeouts = HTTPTimeouts.patient
    let script: @Sendable (RawServer.Peer) -> Void
  }

  @Test(arguments: [
    Fault(testDescription: "reset", kind: .receive) { $0.reset() },
    Fault(testDescription: "end without an answer", kind: .receive) { _ in },
    Fault(testDescription: "end in the middle of the answer", kind: .receive) { $0.write(half) },
    Fault(testDescription: "an answer that is not HTTP", kind: nil) { $0.write("220 smtp.example ESMTP\r\n") },
    Fault(
      testDescription: "no first byte in time", kind: .timedOut(.firstByte),
      timeouts: HTTPTimeouts(connect: .patience, firstByte: .seconds(1), total: .patience)
    ) { $0.hang() },
    Fault(
      testDescription: "total timeout before the first byte", kind: .timedOut(.firstByte),
      timeouts: HTTPTimeouts(total: .seconds(2))
    ) { $0.hang() },
    Fault(
      testDescription: "total timeout within the answer", kind: .timedOut(.response),
      timeouts: HTTPTimeouts(connect: .patience, firstByte: .patience, total: .seconds(8))
    ) { peer in
      peer.write(half)
      peer.hang()
    },
    Fault(testDescription: "an endless header", kind: .tooLarge) { peer in
      peer.write("HTTP/1.1 200 OK\r\n")
      for number in 0..<100 { peer.write("X-\(number): \(String(repeating: "x", count: 1_000))\r\n") }
      peer.hang()
    },
  ])
  func `A request that was read may have left, and is not sent again`(fault: Fault) async throws {
    try await withRawServer { server, peer, _ in
      _ = server.read(peer)
      fault.script(peer)
    } test: { server, transport in
      let error = try await failure(transport, post(server.url, timeouts: fault.timeouts))
      if let kind = fault.kind { #expect(error.kind == kind) }
      #expect(error.requestMayHaveLeft)
      #expect(server.requests.count == 1)
    }
  }

  @Test func `Interim answers are skipped`() async throws {
    try await withRawServer { server, peer, _ in
      _ = server.read(peer)
      peer.write(
        "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 200 OK\r\nX-Late: 1\r\nContent-Length: 0\r\n\r\n")
    } test: { server, transport in
      let response = try await transport.send(post(server.url))
      #expect(response.status == 200)
      #expect(response.headers.fields.map(\.name) == ["X-Late", "Content-Length"])
    }
  }
}
