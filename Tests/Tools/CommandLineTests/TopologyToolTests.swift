import CountersignEncoding
import FoundationEssentials
import Synchronization
import Testing

@testable import CommandLine

final class FakeManagement: ManagementTransport {
  struct Contents {
    var answers: [String: ManagementResponse]
    var writes: [(line: String, body: String)] = []
    var refusal: ManagementResponse?
    var forbidden: Set<String> = []
  }

  let contents: Mutex<Contents>

  init(_ answers: [String: String] = [:], refusal: ManagementResponse? = nil) {
    contents = Mutex(
      Contents(
        answers: answers.mapValues { ManagementResponse(status: 200, body: Array($0.utf8)) }, refusal: refusal))
  }

  var writes: [(line: String, body: String)] { contents.withLock { $0.writes } }

  func send(_ method: String, _ path: String, body: [UInt8]?) async throws(CommandLineError) -> ManagementResponse {
    contents.withLock {
      if let refusal = $0.refusal { return refusal }
      if $0.forbidden.contains(path) {
        return ManagementResponse(status: 401, body: Array(#"{"reason": "Not administrator user"}"#.utf8))
      }
      if method == "GET" { return $0.answers[path] ?? ManagementResponse(status: 200, body: Array("[]".utf8)) }
      $0.writes.append(("\(method) \(path)", String(decoding: body ?? [], as: UTF8.self)))
      return ManagementResponse(status: 201, body: [])
    }
  }
}

@Suite struct TopologyToolTests {
  func tool(_ broker: FakeManagement, virtualHost: String = "/") -> TopologyTool {
    TopologyTool(api: ManagementAPI(transport: broker, virtualHost: virtualHost))
  }

  @Test func `Applies everything to an empty broker`() async throws {
    let broker = FakeManagement()
    var tool = tool(broker)
    tool.includesUsers = false
    let (fixed, _) = try await tool.apply()
    #expect(fixed.count == broker.writes.count)
    let lines = broker.writes.map(\.line)
    #expect(lines.contains("PUT /api/exchanges/%2F/countersign.jobs"))
    #expect(lines.contains("PUT /api/queues/%2F/sms.dispatch"))
    #expect(lines.contains("POST /api/bindings/%2F/e/countersign.jobs/q/sms.dispatch"))
    let policy = try #require(
      broker.writes.first { $0.line == "PUT /api/policies/%2F/countersign.retry.sms.bulk.5s" })
    let body = try JSONReader.commandLine.value(of: policy.body.utf8)
    #expect(
      body
        == [
          "pattern": "^countersign\\.retry\\.sms\\.bulk\\.5s$", "apply-to": "queues", "priority": 10,
          "definition": [
            "dead-letter-exchange": "countersign.delayed", "dead-letter-routing-key": "sms.bulk",
            "dead-letter-strategy": "at-least-once", "message-ttl": 5000, "delivery-limit": 1_000_000,
            "max-length": 500_000,
            "max-length-bytes": 268_435_456, "overflow": "reject-publish",
          ],
        ])
    let way = try #require(broker.writes.first { $0.line == "PUT /api/policies/%2F/countersign.delayed" })
    #expect(
      try JSONReader.commandLine.value(of: way.body.utf8)
        == [
          "pattern": "^countersign\\.delayed$", "apply-to": "exchanges", "priority": 10,
          "definition": ["alternate-exchange": "countersign.dead"],
        ])
  }

  @Test func `Queues are declared with their type only`() async throws {
    let broker = FakeManagement()
    _ = try await tool(broker).apply()
    let queue = try #require(broker.writes.first { $0.line == "PUT /api/queues/%2F/sms.dispatch" })
    let body = try JSONReader.commandLine.value(of: queue.body.utf8)
    #expect(body == ["durable": true, "auto_delete": false, "arguments": ["x-queue-type": "quorum"]])
  }

  @Test func `Reads what the broker says`() async throws {
    let broker = FakeManagement([
      "/api/queues/%2F": """
      [{"name": "sms.dispatch", "durable": true, "auto_delete": false, "type": "classic", "arguments": {},
        "policy": null, "messages": 3}]
      """,
      "/api/policies/%2F": """
      [{"vhost": "/", "name": "countersign.dead", "pattern": "x", "apply-to": "queues", "priority": 10,
        "definition": {"delivery-limit": 1000000, "max-length": 2000000, "overflow": "reject-publish"}}]
      """,
    ])
    let found = try await tool(broker).check().differences.map(\.description)
    #expect(found.contains("queue sms.dispatch: x-queue-type is classic instead of quorum"))
    #expect(
      found.contains { $0.hasPrefix("policy countersign.dead: max-length-bytes is not set instead of 1073741824,") })
  }

  @Test(
    arguments: [
      (401, CommandLineError.Code.notPermitted), (403, .notPermitted), (404, .refused), (400, .refused),
      (503, .unavailable),
    ])
  func `A refusal has its own code`(status: Int, code: CommandLineError.Code) async throws {
    let broker = FakeManagement(
      refusal: ManagementResponse(status: status, body: Array(#"{"error": "x", "reason": "because"}"#.utf8)))
    let error = await #expect(throws: CommandLineError.self) { try await tool(broker).check() }
    #expect(error?.code == code)
  }

  @Test func `An administrators apply makes users and rights`() async throws {
    let broker = FakeManagement()
    _ = try await tool(broker).apply()
    let writes = broker.writes
    // Without a password nobody can log in.
    #expect(writes.contains { $0.line == "PUT /api/users/gateway" && $0.body.contains(#""password_hash":"""#) })
    #expect(writes.contains { $0.line == "PUT /api/permissions/%2F/gateway" })
    #expect(writes.contains { $0.line == "PUT /api/topic-permissions/%2F/gateway" })
    #expect(writes.contains { $0.line == "PUT /api/user-limits/gateway/max-channels" && $0.body == #"{"value":2000}"# })
    #expect(writes.contains { $0.line == "PUT /api/vhost-limits/%2F/max-queues" && $0.body == #"{"value":1000}"# })
  }

  @Test func `Users without the right are told which user has it`()
    async throws
  {
    let broker = FakeManagement()
    broker.contents.withLock { $0.forbidden = ["/api/users"] }
    let report = try await tool(broker).check()
    #expect(report.unchecked == TopologyReport.needsAdministrator)
    #expect(!report.differences.contains { $0.description.contains("user") })
  }

  @Test func `Users are left out on request`() async throws {
    var tool = tool(FakeManagement())
    tool.includesUsers = false
    let report = try await tool.check()
    #expect(report.unchecked == nil)
    #expect(!report.differences.contains { $0.description.contains("user") })
  }

  @Test func `Reads users as the broker tells them`() async throws {
    let broker = FakeManagement([
      "/api/users": """
      [{"name": "a", "password_hash": "x", "tags": ["impersonator"], "limits": []},
       {"name": "b", "tags": "monitoring,impersonator"}]
      """,
      "/api/vhost-limits/%2F": #"[{"vhost": "/", "value": {"max-queues": 7}}]"#,
    ])
    let found = try await tool(broker).check().differences.map(\.description)
    #expect(found.filter { $0.contains("impersonator") }.count == 2)
    #expect(!found.contains { $0.contains("max-queues") })
  }

  @Test func `Names are escaped in paths`() {
    #expect(PercentEncoding.encode("/") == "%2F")
    #expect(PercentEncoding.encode("a b\u{e9}~x.y-z_1") == "a%20b%C3%A9~x.y-z_1")
    #expect(PercentEncoding.encode("\n") == "%0A")
  }
}

@Suite struct SupportTests {
  @Test func `Reads assignments of a shell`() {
    let text = """
      # a comment=1
      export A=one
      B='two words'
        export C="three"
      not an assignment
      D=
      E=a=b
      """
    #expect(
      EnvironmentFile.parse(text) == ["A": "one", "B": "two words", "C": "three", "D": "", "E": "a=b"])
  }

  @Test func `A table has straight columns`() {
    var table = TextTable("ID", "REASON")
    table.rows = [["a-long-id", "X"], ["b", ""]]
    #expect(table.text == "ID         REASON\na-long-id  X\nb")
  }
}
