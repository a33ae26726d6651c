import HTTPClient
import Testing

@testable import Gateway

@Suite("Pages of other origins", .serialized)
struct CrossOriginTests {
  @Test(arguments: [GatewayBench.signUp, "/nowhere"])
  func `A preflight is answered everywhere with what it asks for`(path: String) async throws {
    let gateway = try GatewayBench.echo()
    let names = "content-type,x-client-version,x-firebase-client,x-firebase-gmpid,x-firebase-locale"
    let answer = try await gateway.send(
      "OPTIONS", path,
      headers: [
        ("Origin", "https://any.example"), ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", names),
      ])
    #expect(answer.status == 204)
    #expect(answer.headers["Access-Control-Allow-Origin"] == "https://any.example")
    #expect(answer.headers["Access-Control-Allow-Methods"] == "POST")
    #expect(answer.headers["Access-Control-Allow-Headers"] == names)
    #expect(answer.headers["Access-Control-Allow-Credentials"] == nil)
    #expect(answer.headers["Vary"]?.contains("Origin") == true)
  }

  @Test(arguments: [true, false])
  func `Pages of other networks may reach a gateway on their user's machine in development mode`(isDevelopment: Bool)
    async throws
  {
    let gateway = try GatewayBench.echo(isDevelopment: isDevelopment)
    let asking = (name: "Access-Control-Request-Private-Network", value: "true")
    for headers in [[asking], []] {
      let answer = try await gateway.send(
        "OPTIONS", GatewayBench.signUp, headers: [("Origin", "https://tunnel.example")] + headers)
      let isAllowed = isDevelopment && !headers.isEmpty
      #expect(answer.headers["Access-Control-Allow-Private-Network"] == (isAllowed ? "true" : nil))
    }
  }

  @Test func `Answers and errors can be read by pages`() async throws {
    let gateway = try GatewayBench.echo()
    for (path, key) in [
      (GatewayBench.signUp, GatewayBench.apiKey), (GatewayBench.signUp, "wrong"), ("/nowhere", GatewayBench.apiKey),
      ("/identitytoolkit.googleapis.com/v1/accounts:signInWithGameCenter", GatewayBench.apiKey),
    ] {
      for origin in [GatewayBench.origin, "https://evil.example"] {
        let answer = try await gateway.post(path, "{}", key: key, headers: [("Origin", origin)])
        #expect(answer.headers["Access-Control-Allow-Origin"] == origin)
        #expect(answer.headers["Access-Control-Allow-Credentials"] == nil)
        #expect(answer.headers["Vary"] == "Origin")
      }
    }
  }

  @Test func `A failure of ours is not for pages in the calls by which their SDK would sign its user out`() async throws
  {
    let cases: [(ProtocolError, keepsUsers: Bool, isReadable: Bool)] = [
      (.unavailable, true, false), (.internalError, true, false), (.account("INVALID_ID_TOKEN"), true, true),
      (.unavailable, false, true), (.internalError, false, true),
    ]
    for (error, keepsUsers, isReadable) in cases {
      let gateway = try GatewayBench { _, _ in
        [
          .v1("signUp", .post, "accounts:signUp", old: "signupNewUser", waitsFor: .accounts, keepsUsers: keepsUsers) {
            _ async throws(ProtocolError) -> CallAnswer in throw error
          }
        ]
      }
      let answer = try await gateway.post(GatewayBench.signUp, "{}", headers: [("Origin", GatewayBench.origin)])
      #expect(answer.status == error.status)
      #expect(answer.headers["Access-Control-Allow-Origin"] == (isReadable ? GatewayBench.origin : nil))
      #expect(answer.headers["Vary"] == "Origin")
    }
  }

  @Test func `Without an origin none is named`() async throws {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.post(GatewayBench.signUp, "{}")
    #expect(answer.headers["Access-Control-Allow-Origin"] == nil)
    #expect(answer.headers["Vary"] == "Origin")
  }

  @Test func `An origin that cannot stand in a header is not reflected`() async throws {
    let gateway = try GatewayBench.echo()
    let text = await RawRequest.send(
      "OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://\u{E9}\r\n\r\n", to: gateway.port)
    #expect(text.hasPrefix("HTTP/1.1 204"))
    #expect(!text.contains("Access-Control-Allow-Origin"))
  }
}
