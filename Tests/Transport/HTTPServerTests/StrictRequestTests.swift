import HTTPServer
import Synchronization
import Testing

@Suite("Requests that break HTTP where servers have to refuse them", .timeLimit(.minutes(10)))
struct StrictRequestTests {
  private static let line = "POST / HTTP/1.1\r\n"
  private static let host = "Host: x\r\n"
  private static let two = "Content-Length: 2\r\n"
  private static let chunked = "Transfer-Encoding: chunked\r\n"
  private static let chunks = "\r\n2\r\nab\r\n0\r\n\r\n"
  /// Bytes that would be answered on their own, were they taken for a request.
  private static let smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"

  private func exchange(_ bytes: String) async throws -> (answer: RawAnswer, seen: [String]) {
    let seen = Mutex<[String]>([])
    let server = try HTTPServer(
      host: "127.0.0.1", port: 0, maxBodyBytes: 1024, limits: HTTPServerLimits(idleTimeout: .seconds(1)),
      handler: { request in
        seen.withLock {
          $0.append("\(request.method) \(request.target) \(String(decoding: request.body, as: UTF8.self))")
        }
        return .respond(HTTPServerResponse(status: 200, text: "ok"))
      })
    let answer = await RawClient.exchange(port: server.port, bytes)
    await server.stop()
    return (answer, seen.withLock { $0 })
  }

  @Test(
    arguments: [
      // Space before the colon, and names that are none.
      line + host + two + "Transfer-Encoding : chunked\r\n\r\nab", line + host + two + " X: y\r\n\r\nab",
      line + " Host: x\r\n" + two + "\r\nab", line + host + ": y\r\n" + two + "\r\nab",
      line + host + "X(y): z\r\n" + two + "\r\nab",
      // NUL.
      line + host + "Content-Length: 2\0 5\r\nX: y\r\n\r\nab", line + host + "Content-Length: 2\0\r\n\r\nab",
      line + host + "\0" + two + "X: y\r\n\r\n", line + host + two + "\0X: y\r\n\r\nab",
      line + host + "Transfer-Encoding: chunked\0\r\n" + chunks, "POST /a\0b HTTP/1.1\r\n" + host + two + "\r\nab",
      line + host + "X:\0y\r\n" + two + "\r\nab",
      // Bare LF, bare CR, folded lines.
      line + "Host: x\n" + two + "\r\nab", line + host + "Content-Length: 2\n\nab",
      "POST / HTTP/1.1\n" + host + two + "\r\nab",
      line + host + "X: a\rY: b\r\n" + two + "\r\nab", line + host + "X: a\r\n b\r\n" + two + "\r\nab",
      // Hosts.
      line + two + "\r\nab", line + host + "Host: y\r\n" + two + "\r\nab",
      // Lengths.
      line + host + two + two + "\r\nab", line + host + two + chunked + chunks,
      line + host + chunked + chunked + chunks,
      line + host + chunked + "Transfer-Encoding: identity\r\n" + chunks,
      line + host + "Transfer-Encoding: gzip\r\n\r\nab", line + host + "Transfer-Encoding: gzip, chunked\r\n" + chunks,
      line + host + "Transfer-Encoding: identity\r\n\r\n", line + host + "Transfer-Encoding:\r\n\r\n",
      "POST / HTTP/1.0\r\n" + host + chunked + chunks,
    ]) func `Are 400, once, and nothing after them is read`(bytes: String) async throws
  {
    let (answer, seen) = try await exchange(bytes + Self.smuggled)
    #expect(answer.status == 400 && answer.end != .timedOut, "\(answer.text)")
    #expect(answer.text.split(separator: "HTTP/1.1 ").count == 1)
    #expect(answer.text.contains("Connection: close\r\n"))
    #expect(answer.body.hasPrefix("The request cannot be read: "))
    #expect(seen.isEmpty)
  }

  @Test(
    arguments: [
      line + host + two + "\r\nab", line + host + "content-length:2\r\n\r\nab",
      line + host + two + "X:\r\nY: \t \r\nZ:  a  b\t\r\n\r\nab", line + host + two + "X: \u{7F}\u{E9}\r\n\r\nab",
      "POST / HTTP/1.0\r\n" + two + "\r\nab", "\r\n" + line + host + two + "\r\nab",
      line + host + "Transfer-Encoding: Chunked\r\n" + chunks, line + "X-1: y\r\n" + two + "HOST: x\r\n\r\nab",
    ]) func `What is odd and allowed is answered`(bytes: String) async throws
  {
    let (answer, seen) = try await exchange(bytes)
    #expect(answer.status == 200, "\(answer.text)")
    #expect(seen == ["POST / ab"])
  }

  @Test(arguments: [0, 1, 40, 150])
  func `Heads of any size, one after the other, are taken for what they are`(fields: Int) async throws {
    let text = (0..<fields).map { "X-\($0): \(String(repeating: "v", count: $0 % 90))\r\n" }.joined()
    let one = Self.line + Self.host + text + Self.two + "\r\nab"
    let (answer, seen) = try await exchange(one + one + one)
    #expect(answer.text.split(separator: "HTTP/1.1 200").count == 3)
    #expect(seen == ["POST / ab", "POST / ab", "POST / ab"])
  }

  @Test func `After a body in chunks the connection ends: others may disagree about its end`() async throws {
    let (answer, seen) = try await exchange(Self.line + Self.host + Self.chunked + Self.chunks + Self.smuggled)
    #expect(answer.status == 200 && answer.end != .timedOut)
    #expect(answer.text.contains("Connection: close\r\n"))
    #expect(seen == ["POST / ab"])
  }
}
