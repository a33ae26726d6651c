import HTTPServer
import Testing

@testable import Gateway

@Suite("Development mode", .serialized)
struct DevelopmentModeTests {
  private static let path = "/emulator/v1/projects/example/accounts"

  private func delete(_ gateway: GatewayBench, host: String, _ headers: String = "", path: String = path) async
    -> String
  {
    await RawRequest.send("DELETE \(path) HTTP/1.1\r\nHost: \(host)\r\n\(headers)\r\n", to: gateway.port)
  }

  @Test(
    arguments: ["localhost", "localhost:9099", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:9099", "[::1]:9099", "[::1]"])
  func `A client on this machine is answered, without a key`(host: String) async throws {
    let gateway = try GatewayBench.echo(isDevelopment: true)
    let text = await delete(gateway, host: host, "Authorization: Bearer owner\r\n")
    #expect(text.hasPrefix("HTTP/1.1 200"))
    #expect(text.contains(#""project":"example""#))
    #expect(await delete(gateway, host: host).hasPrefix("HTTP/1.1 200"))
  }

  @Test(
    arguments: [
      "example.com", "localhost.example.com", "127.0.0.1.nip.io", "10.0.0.1:9099", "0.0.0.0", "localhost:",
      "localhost:x",
      "user@localhost", "localhost/x", "", "[::2]", "2130706433", "::1",
      // This machine, as the emulator of Android names it: docs/gateway.md has the way for its tests.
      "10.0.2.2:9099",
    ]) func `A host that is not loopback is refused`(host: String) async throws
  {
    let gateway = try GatewayBench.echo(isDevelopment: true)
    #expect(await !delete(gateway, host: host).hasPrefix("HTTP/1.1 200"))
  }

  @Test(
    arguments: [
      "Forwarded: for=127.0.0.1", "X-Forwarded-For: 127.0.0.1", "x-forwarded-host: localhost",
      "X-Forwarded-Proto: http",
      "X-Forwarded-Anything: a", "X-Real-IP: 127.0.0.1", "Via: 1.1 nginx", "X-Forwarded-For:",
    ]) func `Whatever a proxy passed on is refused`(header: String) async throws
  {
    let gateway = try GatewayBench.echo(isDevelopment: true)
    let text = await delete(gateway, host: "localhost", header + "\r\n")
    #expect(text.hasPrefix("HTTP/1.1 403"))
    #expect(text.contains("PERMISSION_DENIED"))
  }

  @Test func `Two hosts are refused`() async throws {
    let gateway = try GatewayBench.echo(isDevelopment: true)
    #expect(await !delete(gateway, host: "localhost", "Host: example.com\r\n").hasPrefix("HTTP/1.1 200"))
  }

  @Test func `A page of the internet is refused, one of this machine is not`() async throws {
    let gateway = try GatewayBench.echo(isDevelopment: true)
    for origin in ["https://evil.example", "null", "http://localhost.evil.example"] {
      #expect(await delete(gateway, host: "localhost", "Origin: \(origin)\r\n").hasPrefix("HTTP/1.1 403"), "\(origin)")
    }
    #expect(await delete(gateway, host: "localhost", "Origin: http://localhost:5173\r\n").hasPrefix("HTTP/1.1 200"))
  }

  @Test func `A project that is unknown is 404`() async throws {
    let gateway = try GatewayBench.echo(isDevelopment: true)
    for project in ["other", "%2e%2e", "example%2Fx", ""] {
      let path = "/emulator/v1/projects/\(project)/accounts"
      #expect(await delete(gateway, host: "localhost", path: path).hasPrefix("HTTP/1.1 404"), "\(project)")
    }
  }

  @Test func `Outside development mode these addresses do not exist`() async throws {
    let gateway = try GatewayBench.echo()
    #expect(await delete(gateway, host: "localhost").hasPrefix("HTTP/1.1 404"))
  }

  @Test func `Bearer owner is valid only from this machine and without a proxy`() async throws {
    let gateway = try GatewayBench.echo(isDevelopment: true)
    let owner = (name: "Authorization", value: "Bearer owner")
    #expect(try await gateway.post(GatewayBench.signUp, "{}", headers: [owner]).status == 200)
    #expect(try await gateway.post(GatewayBench.signUp, "{}", headers: [owner, ("Via", "1.1 a")]).isError(401))
    #expect(try await gateway.post(GatewayBench.signUp, "{}", headers: [owner, ("Host", "example.com")]).isError(401))
    let loud = (name: "Authorization", value: "bEArEr OWNER")
    #expect(try await gateway.post(GatewayBench.signUp, "{}", headers: [loud]).status == 200)
    for other in ["Bearer owners", "Bearer owner ", "Bearer owner, Bearer x", "Bearer x"] where other != "Bearer owner "
    {
      #expect(
        try await gateway.post(GatewayBench.signUp, "{}", headers: [("Authorization", other)]).isError(401), "\(other)")
    }
  }

  @Test func `A client of another machine is refused`() {
    let request = HTTPServerRequest(
      method: "DELETE", target: Self.path, headers: ["Host": "localhost"], remoteAddress: "10.0.0.7")
    #expect(!LocalRequest.isLocal(request))
  }
}
