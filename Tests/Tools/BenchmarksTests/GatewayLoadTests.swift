import HTTPServer
import Synchronization
import Testing

@testable import Benchmarks

@Suite(.timeLimit(.minutes(10))) struct GatewayLoadTests {
  private final class Gateway: Sendable {
    let asked = Mutex<[String]>([])

    func listen() throws -> HTTPServer {
      try HTTPServer(host: "127.0.0.1", port: 0, maxBodyBytes: 1 << 16) { [self] request in
        let name = String(request.path.split(whereSeparator: { $0 == "/" || $0 == ":" }).last ?? "")
        asked.withLock { $0.append("\(name) \(String(decoding: request.body, as: UTF8.self))") }
        return .respond(answer(name))
      }
    }

    private func answer(_ name: String) -> HTTPServerResponse {
      switch name {
      case "signUp":
        HTTPServerResponse(
          status: 200, contentType: "application/json", text: #"{"idToken":"i","refreshToken":"r","expiresIn":"3600"}"#)
      case "token": HTTPServerResponse(status: 200, contentType: "application/json", text: #"{"id_token":"j"}"#)
      default:
        HTTPServerResponse(
          status: 400, contentType: "application/json", text: #"{"error":{"code":400,"message":"USER_DISABLED : So."}}"#
        )
      }
    }
  }

  private func load(_ server: HTTPServer) -> GatewayLoad {
    GatewayLoad(url: "http://127.0.0.1:\(server.port)", apiKey: "fake-api-key", app: "com.example.app")
  }

  @Test func `Accounts are made before the refreshes, which bring their tokens`() async throws {
    let gateway = Gateway()
    let server = try gateway.listen()
    let result = try await load(server).refreshes(20, accounts: 3, .closedLoop(inProgress: 4))
    await server.stop()
    #expect(result.done == 20)
    #expect(result.failed.isEmpty)
    #expect(result.whole != nil && result.first == nil)
    let asked = gateway.asked.withLock { $0 }
    #expect(asked.prefix(3).allSatisfy { $0 == #"signUp {"returnSecureToken":"true"}"# })
    #expect(asked.dropFirst(3).allSatisfy { $0 == #"token {"grantType":"refresh_token","refreshToken":"r"}"# })
    #expect(asked.count == 23)
  }

  @Test func `Refusals are counted by status and code, and not as done`() async throws {
    let server = try Gateway().listen()
    let result = try await load(server).lookUps(5, accounts: 1, .openLoop(perSecond: 1_000))
    await server.stop()
    #expect(result.done == 0)
    #expect(result.failed == ["400 USER_DISABLED": 5])
    #expect(result.whole == nil)
  }
}
