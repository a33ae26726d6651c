import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import JobEngine
import Testing

@testable import SMS

@Suite struct TwilioLaneTests {
  private func lane(
    _ http: FakeHTTP, sender: TwilioConfiguration.Sender = .number("+15005550006"), username: String? = nil
  ) throws -> TwilioLane {
    TwilioLane(
      TwilioConfiguration(baseURL: "http://127.0.0.1:1/", accountSID: "AC1", username: username, sender: sender),
      password: Secret("sesame"), LaneContext("a", try Shipped.table("twilio"), http), nil)
  }

  @Test func `Twilio is told where to report on this message`() async throws {
    let http = FakeHTTP(201, #"{"sid": "SM1", "status": "queued"}"#)
    let addresses = ReportAddresses(
      publicURL: "https://sms.example.com", secret: Secret("a secret of sixteen"), maxAge: .seconds(60))
    let lane = TwilioLane(
      TwilioConfiguration(
        baseURL: "http://127.0.0.1:1/", accountSID: "AC1", username: nil, sender: .number("+15005550006")),
      password: Secret("sesame"), LaneContext("a", ProviderTable(), http), addresses)
    _ = await lane.send(Sample.message(), Sample.attempt())
    let fields = FormEncoding.decode(http.requests.first?.body ?? [])
    let expected = addresses.url(lane: "a", subject: .init(job: MessageIdentity(key: "job-1")), at: Sample.now)
    #expect(fields.first { $0.name == "StatusCallback" }?.value == expected)
  }

  @Test func `The request is the one of the Messages API`() async throws {
    let http = FakeHTTP(201, #"{"sid": "SM1", "status": "queued"}"#)
    let outcome = try await lane(http).send(Sample.message("Né à 5€ & co\n@a.example #1"), Sample.attempt())
    #expect(outcome.short == "accepted SM1")
    let request = try #require(http.requests.first)
    #expect(request.method == "POST")
    #expect(request.url == "http://127.0.0.1:1/2010-04-01/Accounts/AC1/Messages.json")
    #expect(request.header("Authorization") == "Basic QUMxOnNlc2FtZQ==")
    #expect(request.header("Content-Type") == "application/x-www-form-urlencoded")
    #expect(
      request.bodyText
        == "To=%2B14155550123&Body=N%C3%A9+%C3%A0+5%E2%82%AC+%26+co%0A%40a.example+%231&From=%2B15005550006&ValidityPeriod=300"
    )
    #expect(!request.isIdempotent)
  }

  @Test func `An API key and a messaging service take the places of account and number`() async throws {
    let http = FakeHTTP(201, "{}")
    _ = try await lane(http, sender: .messagingService("MG1"), username: "SK1").send(Sample.message(), Sample.attempt())
    let request = try #require(http.requests.first)
    #expect(request.header("Authorization") == "Basic U0sxOnNlc2FtZQ==")
    #expect(request.bodyText.contains("&MessagingServiceSid=MG1&"))
    #expect(!request.bodyText.contains("From="))
  }

  @Test(
    arguments: [(1, 1), (300, 300), (36_000, 36_000), (90_000, 36_000)])
  func `ValidityPeriod is what is left, within Twilio's limits`(secondsLeft: Int, expected: Int) async throws {
    let http = FakeHTTP(201, "{}")
    _ = try await lane(http).send(Sample.message(), Sample.attempt(secondsLeft: secondsLeft))
    #expect(http.requests.first?.bodyText.hasSuffix("ValidityPeriod=\(expected)") == true)
  }

  @Test(arguments: [0, -10])
  func `With too little left nothing is sent`(secondsLeft: Int) async throws {
    let http = FakeHTTP(201, "{}")
    let outcome = try await lane(http).send(Sample.message(), Sample.attempt(secondsLeft: secondsLeft))
    #expect(outcome.short == "tooLate DEADLINE_TOO_NEAR")
    #expect(http.requests.isEmpty)
  }

  @Test(
    arguments: [
      (201, #"{"sid": "SM1", "status": "accepted", "error_code": null}"#, "accepted SM1"),
      (200, "", "unknown PROVIDER_ERROR"), (200, "<html>", "unknown PROVIDER_ERROR"),
      (201, "{}", "unknown PROVIDER_ERROR"), (201, String(repeating: "[", count: 513), "unknown PROVIDER_ERROR"),
      (201, #"{"sid": "SM1", "status": "failed", "error_code": 30006}"#, "refused NOT_MOBILE"),
      (201, #"{"sid": "SM1", "status": "failed", "error_code": null}"#, "refused PROVIDER_REFUSED"),
      (400, #"{"code": 21211, "message": "x +14155550123", "more_info": "", "status": 400}"#, "refused INVALID_NUMBER"),
      (401, #"{"code": 20003, "message": "Authenticate", "status": 401}"#, "laneDown PROVIDER_CREDENTIALS"),
      (500, #"{"code": 20500, "status": 500}"#, "unknown PROVIDER_ERROR"), (502, "<html>", "unknown PROVIDER_ERROR"),
      (500, #"{"code": 30002, "status": 500}"#, "laneDown PROVIDER_ACCOUNT"),
      (400, #"{"code": "21211"}"#, "refused PROVIDER_REFUSED"),
    ])
  func `Answers`(status: Int, body: String, expected: String) async throws {
    let outcome = try await lane(FakeHTTP(status, body)).send(Sample.message(), Sample.attempt())
    #expect(outcome.short == expected)
    #expect(outcome.reason?.description.contains("4155550123") != true)
  }

  @Test(arguments: [("9", 9), ("Wed, 01 Jul 2026 12:00:30 GMT", 30)])
  func `Retry-After as seconds and as date`(value: String, seconds: Int) async throws {
    let http = FakeHTTP(429, #"{"code": 20429}"#, headers: [(name: "retry-after", value: value)])
    let outcome = try await lane(http).send(Sample.message(), Sample.attempt())
    #expect(outcome.short == "retry PROVIDER_THROTTLED \(seconds)")
  }

  @Test(arguments: [true, false])
  func `Without an answer it depends on whether the request can have left`(mayHaveLeft: Bool) async throws {
    let http = FakeHTTP { () throws(TransportError) -> HTTPResponse in
      throw TransportError(kind: .other, requestMayHaveLeft: mayHaveLeft, description: "gone")
    }
    let outcome = try await lane(http).send(Sample.message(), Sample.attempt())
    #expect(outcome.short == (mayHaveLeft ? "unknown NO_ANSWER" : "retry NOT_CONNECTED"))
  }

  @Test(
    arguments: [
      (401, #"{"code": 20003}"#, "PROVIDER_CREDENTIALS"), (200, #"{"status": "suspended"}"#, "PROVIDER_ACCOUNT"),
      (200, #"{"status": "active"}"#, nil), (200, "<html>", nil),
      (200, String(repeating: "[", count: 513), nil), (403, "", nil), (404, "", nil), (500, "", nil),
    ] as [(Int, String, String?)])
  func `A lane that is down is asked through its account, which costs no message`(
    status: Int, body: String, reason: String?
  )
    async throws
  {
    let http = FakeHTTP(status, body)
    let result = try await lane(http).probe()
    if case .down(let why) = result {
      #expect(why.code == reason)
    } else {
      #expect(reason == nil && result == .cannotTell)
    }
    let request = try #require(http.requests.first)
    #expect(request.method == "GET")
    #expect(request.url == "http://127.0.0.1:1/2010-04-01/Accounts/AC1.json")
    #expect(request.header("Authorization") == "Basic QUMxOnNlc2FtZQ==")
  }

  @Test func `The password and the message do not print`() throws {
    let lane = try lane(FakeHTTP(201))
    for text in ["\(lane)", String(reflecting: lane), "\(Sample.message())", String(reflecting: Sample.message())] {
      #expect(
        !text.contains("sesame") && !text.contains("QUMx") && !text.contains("482913") && !text.contains("4155550123"))
    }
  }
}
