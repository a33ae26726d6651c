import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine
import Testing

@testable import SMS

/// Twilio's published description of the request that creates a message, in `Tests/Fixtures/twilio-create-message.json`.
private struct TwilioDescription: Decodable {
  struct Schema: Decodable {
    let properties: [String: Property]
    let required: [String]
  }

  struct Property: Decodable {
    let type: String
    let format: String?
    let minLength: Int?
    let maxLength: Int?
    let pattern: String?
  }

  struct Extension: Decodable {
    /// Of the fields of each group there has to be one, in the names of Twilio's libraries.
    let conditional: [[String]]
  }

  let path: String
  let content: String
  let account: Property
  let schema: Schema
  let twilio: Extension

  enum CodingKeys: String, CodingKey {
    case path, content, schema
    case account = "AccountSid"
    case twilio = "x-twilio"
  }

  static func read() throws -> TwilioDescription {
    let file = Shipped.package + "/Tests/Fixtures/twilio-create-message.json"
    return try JSONDecoder().decode(Self.self, from: Data(contentsOf: URL(filePath: file)))
  }

  func problems(_ request: SentRequest) -> [String] {
    var problems: [String] = []
    if request.method != "POST" { problems.append("method \(request.method)") }
    if request.contentType != content { problems.append("content type") }
    let parts = path.split(separator: "{AccountSid}").map(String.init)
    if !request.path.hasPrefix(parts[0]) || !request.path.hasSuffix(parts[1]) { problems.append("path") }
    let sid = String(request.path.dropFirst(parts[0].count).dropLast(parts[1].count))
    problems += self.problems("AccountSid", sid, account)
    for (name, value) in request.fields {
      guard let property = schema.properties[name] else {
        problems.append("\(name) is not described")
        continue
      }
      problems += self.problems(name, value, property)
    }
    let names = request.fields.map(\.name)
    if Set(names).count < names.count { problems.append("a field comes twice") }
    problems += schema.required.filter { !names.contains($0) }.map { "\($0) is missing" }
    let given = Set(names.map(Self.snakeCase))
    problems += twilio.conditional.filter { given.isDisjoint(with: $0) }.map { "none of \($0)" }
    return problems
  }

  private func problems(_ name: String, _ value: String, _ property: Property) -> [String] {
    var problems: [String] = []
    if let least = property.minLength, value.count < least { problems.append("\(name) is too short") }
    if let most = property.maxLength, value.count > most { problems.append("\(name) is too long") }
    if let pattern = property.pattern, (try? Regex(pattern).wholeMatch(in: value)) == nil {
      problems.append("\(name) does not match")
    }
    let isOfType =
      switch property.type {
      case "integer": Int(value) != nil
      case "boolean": value == "true" || value == "false"
      case "number": Double(value) != nil
      default: true
      }
    if !isOfType { problems.append("\(name) is no \(property.type)") }
    if property.format == "uri", URL(string: value)?.scheme == nil { problems.append("\(name) is no URI") }
    return problems
  }

  private static func snakeCase(_ name: String) -> String {
    name.map { $0.isUppercase ? "_" + $0.lowercased() : String($0) }.joined().drop { $0 == "_" }.description
  }
}

private struct SentRequest {
  var method: String
  var path: String
  var contentType: String?
  var fields: [(name: String, value: String)]
}

@Suite struct TwilioDescriptionTests {
  private static let account = "AC0123456789abcdef0123456789abcdef"

  private func request(
    _ sender: TwilioConfiguration.Sender, _ text: String = "482913 is your code", secondsLeft: Int = 300,
    callbacks: ReportAddresses? = nil
  ) async throws -> SentRequest {
    let http = FakeHTTP(201, "{}")
    let lane = TwilioLane(
      TwilioConfiguration(baseURL: "https://api.twilio.com", accountSID: Self.account, username: nil, sender: sender),
      password: Secret("sesame"), LaneContext("t", ProviderTable(), http), callbacks)
    _ = await lane.send(Sample.message(text), Sample.attempt(secondsLeft: secondsLeft))
    let sent = try #require(http.requests.first)
    return SentRequest(
      method: sent.method, path: String(sent.url.dropFirst("https://api.twilio.com".count)),
      contentType: sent.header("Content-Type"), fields: FormEncoding.decode(sent.body ?? []))
  }

  @Test func `Requests match the documentation for each sender and address`() async throws {
    let description = try TwilioDescription.read()
    let callbacks = ReportAddresses(
      publicURL: "https://sms.example.com", secret: Secret("a secret of sixteen"), maxAge: .seconds(60))
    for sender in [
      TwilioConfiguration.Sender.number("+15005550006"), .number("Example"),
      .messagingService("MG0123456789abcdef0123456789abcdef"),
    ] {
      for callbacks in [nil, callbacks] {
        for seconds in [1, 300, 1_000_000] {
          let request = try await request(sender, "Né à 5€ & co = 1\n+", secondsLeft: seconds, callbacks: callbacks)
          #expect(description.problems(request).isEmpty, "\(description.problems(request))")
          #expect(request.fields.contains { $0.name == "StatusCallback" } == (callbacks != nil))
        }
      }
    }
  }

  @Test func `The check finds what is not as described`() async throws {
    let description = try TwilioDescription.read()
    let good = try await request(.number("+15005550006"))
    func problems(_ change: (inout SentRequest) -> Void) -> [String] {
      var request = good
      change(&request)
      return description.problems(request)
    }
    #expect(problems { $0.method = "PUT" } == ["method PUT"])
    #expect(problems { $0.path = $0.path.replacing(Self.account, with: "AC1") }.first == "AccountSid is too short")
    #expect(problems { $0.contentType = "application/json" } == ["content type"])
    #expect(problems { $0.fields.removeAll { $0.name == "To" } } == ["To is missing"])
    #expect(problems { $0.fields.removeAll { $0.name == "From" } } == [#"none of ["from", "messaging_service_sid"]"#])
    #expect(problems { $0.fields.append((name: "Sender", value: "x")) } == ["Sender is not described"])
    #expect(problems { $0.fields.append((name: "Attempt", value: "x")) } == ["Attempt is no integer"])
    #expect(problems { $0.fields.append((name: "StatusCallback", value: "x")) } == ["StatusCallback is no URI"])
    #expect(problems { $0.fields.append($0.fields[0]) } == ["a field comes twice"])
  }
}
