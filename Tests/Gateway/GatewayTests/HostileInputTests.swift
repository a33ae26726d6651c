import CountersignEncoding
import CountersignTelemetry
import Foundation
import HTTPClient
import Testing

@testable import Gateway

@Suite("Hostile requests", .serialized)
struct HostileInputTests {
  @Test(arguments: [70_000, 900_000])
  func `A body that is too long is 413 in the protocol's form, which a page may read`(size: Int) async throws {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.post(
      GatewayBench.signUp, #"{"phoneNumber": "\#(String(repeating: "1", count: size))"}"#,
      headers: [("Origin", GatewayBench.origin)])
    #expect(answer.isError(413))
    #expect(answer.headers["Access-Control-Allow-Origin"] == GatewayBench.origin)
    #expect(gateway.metrics.render().contains(#"countersign_gateway_requests_total{call="signUp",status="413"} 1"#))
    #expect(gateway.metrics.render().contains(#"countersign_gateway_request_seconds_count{call="signUp"} 1"#))
  }

  @Test func `So is one without a declared length`() async throws {
    let gateway = try GatewayBench.echo()
    let chunk = String(repeating: "a", count: 0x8000)
    let text = await RawRequest.send(
      "POST \(GatewayBench.signUp)?key=fake-api-key HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        + String(repeating: "8000\r\n\(chunk)\r\n", count: 3) + "0\r\n\r\n", to: gateway.port)
    #expect(text.hasPrefix("HTTP/1.1 413"))
    #expect(text.contains(#""code":413"#))
  }

  @Test func `The longest body is read`() async throws {
    let gateway = try GatewayBench.echo()
    let filler = String(repeating: "1", count: CallLimits.maxBodyBytes - #"{"filler":""}"#.utf8.count)
    #expect(try await gateway.post(GatewayBench.signUp, #"{"filler":"\#(filler)"}"#).status == 200)
    #expect(try await gateway.post(GatewayBench.signUp, #"{"filler":"1\#(filler)"}"#).isError(413))
  }

  @Test(
    arguments: [
      "x", "[]", String(repeating: "[", count: 60_000), String(repeating: "{\"a\":", count: 12_000),
      #"{"a": 1, "a": 2}"#, #"{"phoneNumber": 5}"#, #"{"phoneNumber": {}}"#, "{\"phoneNumber\": \"\0\"}",
    ]) func `Bad bodies are 400 in the protocol's form`(json: String) async throws
  {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.post(GatewayBench.signUp, json)
    #expect(answer.isError(400))
    #expect(answer.reason == "parseError")
    #expect(answer.word == "INVALID_ARGUMENT")
    #expect(answer.message?.hasPrefix("Invalid JSON payload received.") == true)
  }

  @Test func `A body that is not UTF-8 is 400`() async throws {
    let gateway = try GatewayBench.echo()
    let answer = try await gateway.send(
      "POST", GatewayBench.signUp + "?key=fake-api-key", body: [0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D])
    #expect(answer.isError(400))
  }

  @Test func `A form with 10,000 fields is 400`() async throws {
    let gateway = try GatewayBench.echo()
    let form = (0..<10_000).map { "f\($0)=" }.joined(separator: "&").utf8.prefix(CallLimits.maxBodyBytes)
    let answer = try await gateway.send(
      "POST", GatewayBench.token + "?key=fake-api-key",
      headers: [("Content-Type", "application/x-www-form-urlencoded")], body: Array(form))
    #expect(answer.isError(400))
  }

  @Test func `A query with 200 parameters is 400`() async throws {
    let gateway = try GatewayBench.echo()
    let query = (0..<200).map { "p\($0)=1" }.joined(separator: "&")
    #expect(try await gateway.send("POST", "\(GatewayBench.signUp)?key=fake-api-key&\(query)", body: []).isError(400))
  }

  @Test func `Odd queries are read`() async throws {
    let gateway = try GatewayBench.echo()
    for query in [
      "key=fake-api-key&%", "?&&key=fake-api-key&=&a", "key=fake%2Dapi-key",
      "alt=json&prettyPrint=false&key=fake-api-key",
    ] {
      #expect(try await gateway.send("POST", "\(GatewayBench.signUp)?\(query)", body: []).status == 200, "\(query)")
    }
    #expect(try await gateway.send("POST", "\(GatewayBench.signUp)?key=%00", body: []).status == 400)
    #expect(try await gateway.send("POST", "\(GatewayBench.signUp)?key=%FF", body: []).isError(400))
  }

  @Test func `A token is taken as a form and as JSON in both spellings`() async throws {
    let gateway = try GatewayBench.echo()
    for (type, body) in [
      ("application/x-www-form-urlencoded", "grant_type=refresh_token"),
      ("application/x-www-form-urlencoded; charset=utf-8", "grant_type=refresh_token"),
      ("application/json", #"{"grantType": "refresh_token"}"#),
      ("application/json", #"{"grant_type": "refresh_token"}"#),
      ("text/plain", #"{"grant_type": "refresh_token"}"#),
    ] {
      let answer = try await gateway.send(
        "POST", GatewayBench.token + "?key=fake-api-key", headers: [("Content-Type", type)], body: Array(body.utf8))
      #expect(answer["grantType"] == .text("refresh_token"))
    }
    // Other calls take JSON only.
    let answer = try await gateway.send(
      "POST", GatewayBench.signUp + "?key=fake-api-key",
      headers: [("Content-Type", "application/x-www-form-urlencoded")], body: Array("phoneNumber=1".utf8))
    #expect(answer.isError(400))
  }

  @Test func `A flood of headers ends the request, not the gateway`() async throws {
    let gateway = try GatewayBench.echo()
    let flood = (0..<5_000).map { "X-Flood-\($0): \(String(repeating: "a", count: 20))\r\n" }.joined()
    let text = await RawRequest.send(
      "POST \(GatewayBench.signUp)?key=fake-api-key HTTP/1.1\r\nHost: localhost\r\n\(flood)\r\n", to: gateway.port)
    #expect(
      text.isEmpty || text.hasPrefix("HTTP/1.1 431") || text.hasPrefix("HTTP/1.1 413") || text.hasPrefix("HTTP/1.1 400")
    )
    #expect(try await gateway.post(GatewayBench.signUp, "{}").status == 200)
  }

  @Test func `Headers with odd bytes are answered`() async throws {
    let gateway = try GatewayBench.echo()
    for header in [
      "Origin: \u{FF}é", "X-Firebase-GMPID: %00\t\t", "X-Forwarded-For: ,,,", "X-Firebase-Locale: \u{7F}",
      "Content-Type:",
    ] {
      let text = await RawRequest.send(
        "POST \(GatewayBench.signUp)?key=fake-api-key HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\(header)\r\n\r\n{}",
        to: gateway.port)
      #expect(text.hasPrefix("HTTP/1.1 200") || text.hasPrefix("HTTP/1.1 403"), "\(header)")
      #expect(text.contains("application/json"))
    }
    #expect(try await gateway.post(GatewayBench.signUp, "{}").status == 200)
  }

  @Test(
    arguments: [
      "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x", "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
      "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n{}",
      "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ]) func `A length that is given twice is refused, and the connection ends`(rest: String) async throws
  {
    let gateway = try GatewayBench.echo()
    let text = await RawRequest.send(
      "POST \(GatewayBench.signUp)?key=fake-api-key HTTP/1.1\r\nHost: localhost\r\n\(rest)", to: gateway.port)
    #expect(text.hasPrefix("HTTP/1.1 400") && text.contains("Connection: close"))
    #expect(text.contains(#""message":"The request cannot be read: its length is given twice.""#))
    #expect(text.components(separatedBy: "HTTP/1.1").count == 2)
    #expect(gateway.metrics.render().contains(#"countersign_gateway_requests_total{call="signUp",status="400"} 1"#))
  }
}
