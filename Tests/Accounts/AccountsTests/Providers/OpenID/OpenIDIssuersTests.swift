import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import TestSupport
import Testing

@testable import Accounts

@Suite("OpenID Connect: issuers") struct OpenIDIssuersTests {
  let issuer: OpenIDBench

  init() throws { issuer = try OpenIDBench() }

  private func error(_ text: String = OpenIDBench.issuer, of issuers: OpenIDIssuers? = nil) async -> APIError? {
    do throws(APIError) {
      _ = try await (issuers ?? issuer.issuers)[text].facts()
      return nil
    } catch {
      return error
    }
  }

  private var fetches: Int { issuer.bench.requests.count }

  @Test func `A document is fetched once an hour, and at most once in ten seconds`() async throws {
    for _ in 0..<5 { #expect(await error() == nil) }
    #expect(fetches == 1)
    issuer.bench.answer(OpenIDBench.document, status: 500, [:])
    issuer.bench.clocks.advance(by: .seconds(3600))
    for _ in 0..<5 { #expect(await error() == nil, "the known one serves") }
    #expect(fetches == 2)
    issuer.bench.clocks.advance(by: .seconds(86_400))
    for _ in 0..<5 { #expect(await error()?.reason == "PROVIDER_UNREACHABLE") }
    #expect(fetches == 3)
    issuer.publish()
    issuer.bench.clocks.advance(by: .seconds(10))
    #expect(await error() == nil)
    let fetched = issuer.bench.metrics.render()
    #expect(fetched.contains(#"countersign_provider_discoveries_total{outcome="status"} 2"#))
  }

  @Test(
    arguments: [
      ["issuer": "https://id.example.com/"], ["issuer": "https://evil.example"], ["issuer": .null],
      ["jwks_uri": .null], ["jwks_uri": "http://id.example.com/keys"], ["token_endpoint": "http://127.0.0.1/token"],
      ["authorization_endpoint": "javascript:alert(1)"], ["authorization_endpoint": "https://id.example.com/a#b"],
      ["userinfo_endpoint": "file:///etc/passwd"], ["token_endpoint": "https://id.example.com/a b"],
    ] as [[String: JSONValue]])
  func `A document of another issuer, or with an address that may not be called, is refused`(
    _ changes: [String: JSONValue]
  ) async throws {
    issuer.publish(changes)
    #expect(await error()?.reason == "PROVIDER_UNREACHABLE")
    #expect(issuer.bench.logs.lines().contains { $0.contains("cannot be fetched") })
  }

  @Test func `What is no document is refused, and so is an issuer that hangs or sends too much`() async throws {
    let answers: [Result<HTTPResponse, TransportError>] = [
      .success(HTTPResponse(status: 200, body: Array("[]".utf8))),
      .success(HTTPResponse(status: 200, body: Array("<html>".utf8))), .success(HTTPResponse(status: 302)),
      .failure(TransportError(kind: .timedOut(.response), requestMayHaveLeft: true, description: "too slow")),
      .failure(TransportError(kind: .tooLarge, requestMayHaveLeft: true, description: "too large")),
    ]
    for answer in answers {
      issuer.bench.answer(OpenIDBench.document) { request throws(TransportError) in
        #expect(request.maxResponseBytes == 256 << 10 && request.timeouts.total == .seconds(5))
        return try answer.get()
      }
      #expect(await error()?.reason == "PROVIDER_UNREACHABLE")
      issuer.bench.clocks.advance(by: .seconds(10))
    }
    #expect(fetches == answers.count)
    #expect(issuer.bench.logs.lines().filter { $0.contains("cannot be fetched") }.count == 1)
  }

  @Test func `An issuer with http:// is asked where the operator has written it`() async throws {
    let plain = "http://127.0.0.1:9000"
    #expect(await error(plain)?.reason == "PROVIDER_UNREACHABLE" && fetches == 0)
    let allowed = try OpenIDBench(allowed: AllowedAddresses(authorities: ["127.0.0.1:9000"]))
    allowed.publish(
      ["issuer": .text(plain), "jwks_uri": .text(plain + "/keys"), "authorization_endpoint": .text(plain + "/a")],
      at: plain)
    #expect(await error(plain, of: allowed.issuers) == nil)
    #expect(await error(plain + "/", of: allowed.issuers) != nil, "it names another")
    #expect(allowed.bench.requests.allSatisfy { $0 == plain + "/.well-known/openid-configuration" })
  }

  @Test func `As many issuers are known as fit`() async throws {
    let first = issuer.issuers[OpenIDBench.issuer]
    for number in 0..<OpenIDIssuers.maxIssuers - 1 { _ = issuer.issuers["https://\(number).example"] }
    #expect(issuer.issuers[OpenIDBench.issuer] === first)
    let second = issuer.issuers["https://0.example"]
    _ = issuer.issuers["https://one.more.example"]
    #expect(issuer.issuers[OpenIDBench.issuer] === first && issuer.issuers["https://0.example"] === second)
  }
}
