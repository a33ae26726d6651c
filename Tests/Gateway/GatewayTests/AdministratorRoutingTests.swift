import CountersignEncoding
import Projects
import Testing

@testable import Gateway

@Suite struct AdministratorRoutingTests {
  private static let identity = "/identitytoolkit.googleapis.com/v1/"
  private static let administrator = [(name: "Authorization", value: "Bearer ya29.token")]

  private static func gateway(isDevelopment: Bool = false) throws -> GatewayBench {
    try GatewayBench(isDevelopment: isDevelopment) { _, _ in
      let echo: Route.Implementation = { (call: Call) async throws(ProtocolError) -> CallAnswer in
        var answer = CallAnswer()
        answer.put("call", call.name)
        answer.put("project", call.projectOrNil?.id)
        answer.put("bearer", call.bearer)
        answer.put("app", call.app?.id)
        answer.put("users", number: try call.body.objects("users").count)
        return answer
      }
      var batch = Route.administrators("batch", .post, "/accounts:batchCreate", old: nil, echo)
      batch.bodyLimits = .batch
      var list = Route.administrators("list", .post, "/accounts:batchDelete", old: nil, echo)
      list.bodyLimits = .list
      return [
        .v1("lookup", .post, "accounts:lookup", old: "getAccountInfo", waitsFor: .accounts, echo),
        .administrators("lookUpUsers", .post, "/accounts:lookup", old: "getAccountInfo", echo), batch, list,
        .administrators("cookie", .post, ":createSessionCookie", old: nil, echo),
      ] + Route.notOffered
    }
  }

  @Test(
    arguments: [
      ("projects/example/accounts:lookup", "{}"), ("accounts:lookup", #"{"targetProjectId":"example"}"#),
      ("accounts:lookup", "{}"),
    ])
  func `A bearer leads to the administrators' call, without a key`(path: String, json: String) async throws {
    let answer = try await Self.gateway().post(
      Self.identity + path, json, key: nil,
      headers: Self.administrator + [("Origin", "https://elsewhere.example.org")])
    #expect(answer.status == 200 && answer["call"] == "lookUpUsers" && answer["project"] == "example")
    #expect(answer["bearer"] == "ya29.token" && answer["app"] == nil)
  }

  @Test func `Without a bearer the same path is the apps' call`() async throws {
    let answer = try await Self.gateway().post(Self.identity + "accounts:lookup", "{}")
    #expect(answer["call"] == "lookup" && answer["bearer"] == nil && answer["app"] != nil)
  }

  @Test func `What follows the project in a segment belongs to the path`() async throws {
    let gateway = try Self.gateway()
    let answer = try await gateway.post(
      Self.identity + "projects/example:createSessionCookie", "{}", key: nil, headers: Self.administrator)
    #expect(answer["call"] == "cookie" && answer["project"] == "example")
    let other = try await gateway.post(
      Self.identity + "projects/:createSessionCookie", "{}", key: nil, headers: Self.administrator)
    #expect(other.status == 501)
  }

  @Test(
    arguments: [
      [], ["Basic eDp5"], ["Bearer"], ["Bearer "], ["Bearer a b"], ["Bearer é"], ["Bearer owner"],
      ["Bearer a", "Bearer b"],
    ] as [[String]])
  func `Without one good bearer the call is 401`(values: [String]) async throws {
    let answer = try await Self.gateway().post(
      Self.identity + "projects/example/accounts:lookup", "{}",
      headers: values.map { (name: "Authorization", value: $0) })
    #expect(answer.isError(401) && answer.word == "UNAUTHENTICATED")
  }

  @Test func `Owner is a bearer of development mode, of this machine`() async throws {
    let gateway = try Self.gateway(isDevelopment: true)
    let path = Self.identity + "projects/example/accounts:lookup"
    let owner = (name: "Authorization", value: "bearer Owner")
    #expect(try await gateway.post(path, "{}", key: nil, headers: [owner])["bearer"] == "owner")
    #expect(try await gateway.post(path, "{}", key: nil, headers: [owner, ("Via", "1.1 a")]).isError(401))
  }

  @Test func `A project that is not there, or another than the path's, is refused`() async throws {
    let gateway = try Self.gateway()
    for (path, json, message) in [
      ("projects/other/accounts:lookup", "{}", "PROJECT_NOT_FOUND"),
      ("accounts:lookup", #"{"targetProjectId":"other"}"#, "PROJECT_NOT_FOUND"),
      ("projects/example/accounts:lookup", #"{"targetProjectId":"other"}"#, "Invalid JSON payload received."),
    ] {
      let answer = try await gateway.post(Self.identity + path, json, key: nil, headers: Self.administrator)
      #expect(answer.isError(400) && answer.message?.hasPrefix(message) == true, "\(path)")
    }
  }

  @Test func `A list of 1,000 IDs may be long`() async throws {
    let gateway = try Self.gateway()
    let ids = Array(repeating: #""\#(String(repeating: "u", count: 128))""#, count: 1_000).joined(separator: ",")
    let path = Self.identity + "projects/example/accounts:batchDelete"
    let answer = try await gateway.post(path, #"{"localIds":[\#(ids)]}"#, key: nil, headers: Self.administrator)
    #expect(answer.status == 200 && answer["call"] == "list")
    let tooLong = String(repeating: " ", count: CallLimits.maxListBytes + 1)
    let refused = try await gateway.post(path, tooLong, key: nil, headers: Self.administrator)
    #expect(refused.isError(413) && refused.message?.contains("1048576") == true)
  }

  @Test func `A batch may be long, and nothing else`() async throws {
    let gateway = try Self.gateway()
    let user = #"{"localId":"u","displayName":"\#(String(repeating: "x", count: 200))"}"#
    let json = #"{"users":[\#(Array(repeating: user, count: 1_000).joined(separator: ","))]}"#
    let batch = try await gateway.post(
      Self.identity + "projects/example/accounts:batchCreate", json, key: nil, headers: Self.administrator)
    #expect(batch.status == 200 && batch["users"] == 1_000)
    let lookup = try await gateway.post(
      Self.identity + "projects/example/accounts:lookup", json, key: nil, headers: Self.administrator)
    #expect(lookup.isError(413))
    let tooLong = String(repeating: " ", count: CallLimits.maxBatchBytes + 1)
    let refused = try await gateway.post(
      Self.identity + "projects/example/accounts:batchCreate", tooLong, key: nil, headers: Self.administrator)
    #expect(refused.isError(413) && refused.message?.contains("8388608") == true)
  }
}
