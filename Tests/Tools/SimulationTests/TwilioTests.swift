import CountersignTelemetry
import HTTPClient
import Simulation
import Testing

@Suite(.timeLimit(.minutes(10)))
struct TwilioTests {
  private struct Created: Decodable {
    let sid: String
    let status: String
    let numSegments: String
    let dateCreated: String
    let to: String
    let from: String?
    let body: String
    let accountSid: String
    let errorCode: Int?
  }

  @Test func `A message is accepted with its ID`() async throws {
    try await Bench.run { bench in
      let answer = try await bench.twilio(["Body": "Ünïcode \"quoted\" \\ \n 🙂"])
      #expect(answer.status == 201)
      let created: Created = try answer.decoded()
      #expect(created.sid.hasPrefix("SM") && created.sid.utf8.count == 34)
      #expect(created.status == "queued")
      #expect(created.numSegments == "1")
      #expect(created.to == "+14155550123")
      #expect(created.body == "Ünïcode \"quoted\" \\ \n 🙂")
      #expect(created.dateCreated == "Wed, 01 Jul 2026 12:00:00 +0000")
      let shown = try await bench.shown()
      #expect(
        shown == [
          Shown(
            to: created.to, from: "+14155550100", body: created.body, receivedAt: "2026-07-01T12:00:00Z",
            provider: "twilio", id: created.sid, deliveries: 1)
        ])
    }
  }

  @Test(
    arguments: [
      (160, "a", "1"), (161, "a", "2"), (306, "a", "2"), (307, "a", "3"), (80, "€", "1"), (81, "€", "2"),
      (70, "я", "1"), (71, "я", "2"), (134, "я", "2"), (135, "я", "3"),
    ])
  func `Segments are counted`(count: Int, character: String, segments: String) async throws {
    try await Bench.run { bench in
      let answer = try await bench.twilio(["Body": String(repeating: character, count: count)])
      let created: Created = try answer.decoded()
      #expect(created.numSegments == segments)
    }
  }

  @Test(
    arguments: [
      (["To": nil], 400, 21604), (["To": "4155550123"], 400, 21211), (["To": "+1415"], 400, 21211),
      (["To": "+15005550001"], 400, 21211), (["To": "+15005550002"], 400, 21612), (["To": "+15005550003"], 400, 21408),
      (["To": "+15005550004"], 400, 21610), (["To": "+15005550009"], 400, 21614),
      (["From": nil], 400, 21603), (["From": "+15005550001"], 400, 21212), (["From": "+15005550007"], 400, 21606),
      (["From": "+15005550008"], 429, 21611), (["From": "a sender that is too long"], 400, 21212),
      (["Body": nil], 400, 21602), (["Body": ""], 400, 21602),
      (["Body": String(repeating: "x", count: 1_601)], 400, 21617),
      (["ValidityPeriod": "0"], 400, 90007), (["ValidityPeriod": "36001"], 400, 90007),
      (["ValidityPeriod": "x"], 400, 90007), (["Validityperiod": "300"], 400, 20001),
      (["StatusCallback": "http://localhost/receipts"], 400, 21609),
      (["StatusCallback": "http://127.0.0.1:8080/receipts"], 400, 21609),
      (["StatusCallback": "https://192.168.1.4/receipts"], 400, 21609),
      (["StatusCallback": "https://receipts/a"], 400, 21609),
      (["StatusCallback": "https://sms_worker.example.com/receipts"], 400, 21609),
      (["StatusCallback": "ftp://example.com/receipts"], 400, 21609),
      (["StatusCallback": "https://example.com/a b"], 400, 21609),
      (["StatusCallback": "https:///receipts"], 400, 21609),
      (["StatusCallback": "https://example.com/" + String(repeating: "x", count: 3_981)], 400, 21609),
    ] as [([String: String?], Int, Int)])
  func `Wrong form is refused`(changes: [String: String?], status: Int, code: Int) async throws {
    try await Bench.run { bench in
      let answer = try await bench.twilio(changes)
      #expect(answer.status == status)
      #expect(try answer.twilioCode() == code)
      #expect(try await bench.shown().isEmpty)
      #expect(try await bench.summary().refused == [String(code): 1])
    }
  }

  @Test func `Address for reports is taken`() async throws {
    try await Bench.run { bench async throws in
      for url in ["https://sms.example.com/receipts/a?job=1%202", "http://203.0.113.7:8443", "https://EXAMPLE.com"] {
        #expect(try await bench.twilio(["StatusCallback": url]).status == 201)
      }
    }
    try await Bench.run(localCallbacks: true) { bench async throws in
      #expect(try await bench.twilio(["StatusCallback": "http://127.0.0.1:1/a"]).status == 201)
      #expect(try await bench.twilio(["StatusCallback": "http://a_b.example.com/"]).status == 400)
    }
  }

  @Test func `API key of the account sends`() async throws {
    try await Bench.run { bench async throws in
      let key = bench.settings.apiKeySID
      #expect(try await bench.twilio(username: key, token: bench.settings.apiKeySecret.reveal()).status == 201)
      #expect(try await bench.twilio(username: key).status == 401)
      #expect(try await bench.twilio(token: bench.settings.apiKeySecret.reveal()).status == 401)
    }
  }

  @Test func `Credentials are checked`() async throws {
    try await Bench.run { bench in
      for answer in [
        try await bench.twilio(token: "wrong"), try await bench.twilio(sid: "AC00000000000000000000000000000002"),
      ] {
        #expect(answer.status == 401)
        #expect(try answer.twilioCode() == 20003)
        #expect(answer.response.headers["WWW-Authenticate"] == "Basic realm=\"Twilio API\"")
      }
    }
  }
}
