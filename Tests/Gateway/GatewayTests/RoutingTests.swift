import CountersignEncoding
import HTTPClient
import Testing

@testable import Gateway

@Suite("Addresses of calls", .serialized)
struct RoutingTests {
  @Test(
    arguments: [
      ("POST", "/identitytoolkit.googleapis.com/v1/accounts:signUp", "signUp"),
      ("POST", "/identitytoolkit.googleapis.com/v1/accounts%3AsignUp", "signUp"),
      ("POST", "/www.googleapis.com/identitytoolkit/v3/relyingparty/signupNewUser", "signUp"),
      ("GET", "/identitytoolkit.googleapis.com/v1/projects", "getProjectConfig"),
      ("GET", "/www.googleapis.com/identitytoolkit/v3/relyingparty/getProjectConfig", "getProjectConfig"),
      ("GET", "/identitytoolkit.googleapis.com/v2/recaptchaConfig", "getRecaptchaConfig"),
      ("POST", "/securetoken.googleapis.com/v1/token", "token"),
    ]) func `A call is found under its names of v1, v2 and v3`(method: String, path: String, name: String) async throws
  {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.send(method, path + "?key=fake-api-key", body: method == "POST" ? [] : nil)
    #expect(answer.status == 200)
    #expect(answer["call"] == .text(name))
    #expect(answer["project"] == .text("example"))
  }

  @Test(
    arguments: [
      "/", "//", "/v1/accounts:signUp", "/identitytoolkit.googleapis.com/v1/accounts:signUp/",
      "/identitytoolkit.googleapis.com//v1/accounts:signUp", "/identitytoolkit.googleapis.com%2Fv1/accounts:signUp",
      "/identitytoolkit.googleapis.com/v1/accounts:signUp%00", "/identitytoolkit.googleapis.com/v1/accounts:signUp%0A",
      "/identitytoolkit.googleapis.com/v1/accounts:signUp%FF", "/identitytoolkit.googleapis.com/v1/accounts:signUp%4",
      "/identitytoolkit.googleapis.com/v2/../v1/accounts:signUp", "/identitytoolkit.googleapis.com/v1/ACCOUNTS:SIGNUP",
      "/identitytoolkit.googleapis.com/v9/accounts:signUp", "/emulator/v1/projects/example/accounts",
    ]) func `An unknown address is 404, whatever tricks are in it`(path: String) async throws
  {
    // Not through the client, which would tidy the path up.
    let gateway = try GatewayBench.echo()
    let text = await RawRequest.send(
      "POST \(path)?key=fake-api-key HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", to: gateway.port)
    #expect(text.hasPrefix("HTTP/1.1 404"))
    #expect(text.contains(#""status":"NOT_FOUND""#))
  }

  @Test func `A path that is too long is 404`() async throws {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.send("GET", "/" + String(repeating: "a", count: 9_000))
    #expect(answer.isError(404))
  }

  @Test(
    arguments: [
      "/identitytoolkit.googleapis.com/v1/accounts:signInWithGameCenter",
      "/identitytoolkit.googleapis.com/v2/accounts/passkeySignIn:start",
      "/identitytoolkit.googleapis.com/v2/accounts/passkeySignIn:finalize",
      "/www.googleapis.com/identitytoolkit/v3/relyingparty/setProjectConfig",
      "/identitytoolkit.googleapis.com/v1/projects/example/tenants",
      "/identitytoolkit.googleapis.com/v2/projects/example/inboundSamlConfigs/saml.a",
      "/identitytoolkit.googleapis.com/v2/accounts/passkeyEnrollment:start",
      "/identitytoolkit.googleapis.com/v2/accounts/passkeyEnrollment:finalize",
      "/identitytoolkit.googleapis.com/v2/defaultSupportedIdps",
    ], ["GET", "POST", "PATCH"]) func `What is not offered is 501, without a key, by any method`(
      path: String, method: String
    ) async throws
  {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.send(method, path, body: method == "GET" ? nil : [])
    #expect(answer.isError(501))
    #expect(answer.word == "NOT_IMPLEMENTED")
    // SDKs of apps know the one; administrators' libraries show the other.
    let isForAdministrators = path.contains("/projects/") || path.hasSuffix("setProjectConfig")
    #expect(
      answer.message
        == (isForAdministrators
          ? "NOT_IMPLEMENTED : This call of administrators is not offered."
          : "OPERATION_NOT_ALLOWED : This call is not offered."))
  }

  @Test func `A wrong method is 405 and names the right ones`() async throws {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.send("GET", GatewayBench.signUp + "?key=fake-api-key")
    #expect(answer.isError(405))
    #expect(answer.headers["Allow"] == "POST")
  }

  @Test func `An open address needs no key, and may be cached`() async throws {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.send("GET", "/www.googleapis.com/service_accounts/v1/jwk/keys")
    #expect(answer.status == 200)
    #expect(answer.text == "{}")
    #expect(answer.headers["Cache-Control"]?.contains("max-age=3600") == true)
  }

  @Test func `No other answer may be cached`() async throws {
    let gateway = try GatewayBench.echo()
    #expect(try await gateway.post(GatewayBench.signUp, "{}").headers["Cache-Control"] == "no-store")
    #expect(try await gateway.post(GatewayBench.signUp, "x").headers["Cache-Control"] == "no-store")
  }
}
