import HTTPClient
import HTTPServer
import TestSupport
import Testing

@testable import Benchmarks

@Suite(.timeLimit(.minutes(10))) struct LoadProviderTests {
  private func status(
    _ provider: LoadProvider, _ method: String, _ path: String, _ body: String
  ) async throws -> Int {
    let server = try provider.listen(port: 0)
    let transport = try HTTPClient()
    let response = try await transport.send(
      HTTPRequest(
        method: method, url: "http://127.0.0.1:\(server.port)\(path)", body: Array(body.utf8), timeouts: .patient))
    await transport.shutdown()
    await server.stop()
    return response.status
  }

  @Test func `A push is read as the app reads it`() async throws {
    let provider = LoadProvider()
    let payload = #"{"aps":{"content-available":1},"com.google.firebase.auth":{"receipt":"r","secret":"s"}}"#
    #expect(try await status(provider, "POST", "/3/device/00ff", payload) == 200)
    let push = await provider.pushes.next(for: "00ff")
    #expect(push?.content.receipt == "r")
    #expect(push?.content.secret == "s")
  }

  @Test func `A message is read as Twilio reads it`() async throws {
    let provider = LoadProvider()
    let form = "To=%2B14155550123&From=x&Body=Your+code+is+123456.%0A%40example.com+%23654321"
    #expect(try await status(provider, "POST", "/2010-04-01/Accounts/AC/Messages.json", form) == 201)
    #expect(await provider.messages.next(for: "+14155550123")?.content == "123456")
  }

  @Test(
    arguments: [
      ("POST", "/3/device/00ff", #"{"aps":{}}"#, 400), ("POST", "/3/device/00ff", "", 400),
      ("POST", "/x", "To=%2B1&Body=no+code", 400), ("POST", "/3/device", "", 400), ("GET", "/3/device/00ff", "", 405),
    ])
  func `Other requests are refused`(method: String, path: String, body: String, expected: Int) async throws {
    #expect(try await status(LoadProvider(), method, path, body) == expected)
  }
}
