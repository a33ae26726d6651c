import HTTPClient
import Testing

@Suite(.timeLimit(.minutes(10)))
struct OtherSMSTests {
  private struct VonageReply: Decodable {
    struct Part: Decodable { let status: String }
    let messages: [Part]
  }

  private struct MessageBirdReply: Decodable {
    struct Problem: Decodable {
      let code: Int
      let parameter: String?
    }
    let errors: [Problem]?
  }

  private func vonage(_ bench: Bench, _ changes: [String: String?] = [:]) async throws -> [String] {
    var fields: [String: String?] = [
      "api_key": "abcd1234", "api_secret": "simulated-api-secret", "from": "Example", "to": "447700900123",
      "text": "Your code is 123456.", "type": "text", "ttl": "300000",
    ]
    fields.merge(changes) { $1 }
    let answer = try await bench.send(
      "POST", "/sms/json", headers: ["Content-Type": "application/x-www-form-urlencoded"], body: bench.encode(fields))
    #expect(answer.status == 200)
    return try answer.decoded(VonageReply.self).messages.map(\.status)
  }

  @Test(
    arguments: [
      ([:], "0"), (["from": "447700900100"], "0"), (["from": "Two words"], "0"), (["from": "TwelveLetter"], "15"),
      (["from": "Ex@mple"], "15"), (["from": "1234567890123456"], "15"), (["callback": "https://example.com/a"], "0"),
      (["callback": "http://localhost/a"], "23"), (["callback": "nowhere"], "23"), (["Text": "x"], "3"),
      (["from": nil], "2"), (["api_secret": "wrong"], "4"),
    ] as [([String: String?], String)])
  func `Vonage refuses invalid requests`(changes: [String: String?], status: String) async throws {
    try await Bench.run { bench in
      let statuses = try await vonage(bench, changes)
      #expect(statuses == [status])
    }
  }

  @Test func `Vonage turns what is not GSM into question marks`() async throws {
    try await Bench.run { bench in
      let plain = try await vonage(bench, ["text": "Ваш код €5"])
      #expect(plain == ["0"])
      #expect(try await vonage(bench, ["text": "Ваш код €5", "type": "unicode"]) == ["0"])
      #expect(try await bench.shown().map(\.body) == ["??? ??? €5", "Ваш код €5"])
    }
  }

  private func messageBird(_ bench: Bench, _ changes: [String: String] = [:]) async throws -> Answer {
    let fields = [
      "originator": "\"Example\"", "recipients": "[\"31612345678\"]", "body": "\"Your code is 123456.\"",
      "datacoding": "\"plain\"", "validity": "300", "reference": "\"job.1\"",
    ].merging(changes) { $1 }
    let body = fields.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
    return try await bench.send(
      "POST", "/messages",
      headers: ["Content-Type": "application/json", "Authorization": "AccessKey live_simulated_access_key"],
      body: Array("{\(body)}".utf8))
  }

  @Test(
    arguments: [
      (["recipients": "[\"0612345678\"]"], 9, "recipient"), (["recipients": "[\"15005550001\"]"], 9, "recipient"),
      (["recipients": "[]"], 9, "recipients"), (["originator": "\"\""], 9, "originator"),
      (["originator": "\"TwelveLetter\""], 10, "originator"), (["originator": "\"Ex@mple\""], 10, "originator"),
      (["datacoding": "\"ascii\""], 10, "datacoding"), (["reportUrl": "\"http://localhost/a\""], 10, "reportUrl"),
      (["body": "\"\(String(repeating: "x", count: 1_378))\""], 10, "body"),
      (["body": "\"\(String(repeating: "я", count: 604))\"", "datacoding": "\"unicode\""], 10, "body"),
    ] as [([String: String], Int, String)])
  func `MessageBird refuses`(changes: [String: String], code: Int, parameter: String) async throws {
    try await Bench.run { bench in
      let answer = try await messageBird(bench, changes)
      #expect(answer.status == 422)
      let problem = try answer.decoded(MessageBirdReply.self).errors?.first
      #expect(problem?.code == code)
      #expect(problem?.parameter == parameter)
    }
  }

  @Test func `MessageBird turns what is not GSM into question marks`()
    async throws
  {
    try await Bench.run { bench in
      for coding in ["plain", "unicode", "auto"] {
        let answer = try await messageBird(bench, ["body": "\"Код 5\"", "datacoding": "\"\(coding)\""])
        #expect(answer.status == 201)
      }
      #expect(try await messageBird(bench, ["body": "\"\(String(repeating: "x", count: 1_377))\""]).status == 201)
      #expect(try await bench.shown("?limit=4").map(\.body).prefix(3) == ["??? 5", "Код 5", "Код 5"])
    }
  }
}
