import HTTPServer
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10)))
struct LongBodyTests {
  private static func post(_ target: String, _ port: UInt16, length: Int = 8) async -> RawAnswer {
    await RawClient.exchange(
      port: port,
      "POST \(target) HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: \(length)\r\n\r\n"
        + String(repeating: "a", count: length))
  }

  @Test func `Some requests have longer bodies, so many at a time`() async throws {
    let port = Mutex<UInt16>(0)
    let inner = Mutex<RawAnswer?>(nil)
    var limits = HTTPServerLimits()
    limits.longBodies = HTTPServerLimits.LongBodies(atOnce: 1) { $0.path.hasPrefix("/long") ? 8 : 4 }
    let server = try HTTPServer(host: "127.0.0.1", port: 0, maxBodyBytes: 4, limits: limits) { request in
      if request.path == "/long-outer" {
        // While this one is answered, there is no place for another.
        let answer = await Self.post("/long", port.withLock { $0 })
        inner.withLock { $0 = answer }
      }
      return .respond(HTTPServerResponse(status: 200, body: request.body))
    }
    port.withLock { $0 = server.port }
    #expect(await Self.post("/long-outer", server.port).body == "aaaaaaaa")
    #expect(inner.withLock { $0?.status } == 503)
    #expect(await Self.post("/long", server.port).status == 200)
    #expect(await Self.post("/long", server.port, length: 9).status == 413)
    #expect(await Self.post("/short", server.port, length: 5).status == 413)
    let chunked = await RawClient.exchange(
      port: server.port,
      "POST /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"
    )
    #expect(chunked.status == 413)
    await server.stop()
  }
}
