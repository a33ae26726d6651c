import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine
import Testing

@testable import SMS

private let oldSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
private let newSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"

@Suite struct WebhookSignerTests {
  private let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
  private let body = Array(#"{"test": 2432232314}"#.utf8)

  @Test func `The example of the specification's libraries`() throws {
    let signature = try WebhookSigner(Secret(oldSecret)).signature(id: id, timestamp: "1614265330", body: body)
    #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  }

  @Test func `Several secrets give several signatures, in their order`() throws {
    let signer = try WebhookSigner(Secret("\(newSecret)\n\(oldSecret)\n"))
    #expect(
      signer.signature(id: id, timestamp: "1614265330", body: body)
        == "v1,78nXHjpFP0tVJQW5D0SBwmVyyW87BV/rL6MgfM/Bw44= v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  }

  @Test(
    arguments: [
      "", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_c2hvcnQ=", "whsec_!!!!r8GKYqrTwjUPD8ILPZIo2LaLaSw",
      "whsec_" + String(repeating: "AAAA", count: 22), String(repeating: oldSecret + " ", count: 5),
    ])
  func `Malformed secrets are refused and not shown`(text: String) {
    let error = #expect(throws: WorkerError.self) { try WebhookSigner(Secret(text)) }
    #expect(error?.code == .invalidSecret)
    #expect(error?.message.contains("MfKQ9r8GKYqr") == false)
  }
}

@Suite struct WebhookLaneTests {
  private func lane(_ http: FakeHTTP, from: String? = nil, deduplicates: Bool = false) throws -> WebhookLane {
    WebhookLane(
      context: LaneContext("a", try Shipped.table("webhook"), http), deduplicates: deduplicates,
      url: "http://127.0.0.1:1/sms", from: from, signer: try WebhookSigner(Secret(oldSecret)))
  }

  private struct Payload: Decodable {
    let type: String
    let timestamp: UnixTime
    let data: Message

    struct Message: Decodable {
      let id, to, text, encoding: String
      let from, languageCode: String?
      let segments: Int
      let deadline: UnixTime
    }
  }

  @Test func `Payload and headers are as documented, and the signature is over the bytes that are sent`() async throws {
    let http = FakeHTTP(200)
    _ = try await lane(http, from: "Example").send(Sample.message("código 482913"), Sample.attempt("v.sms.1"))
    let request = try #require(http.requests.first)
    #expect(request.method == "POST")
    #expect(request.url == "http://127.0.0.1:1/sms")
    let id = try #require(request.header("webhook-id"))
    #expect(id == WebhookID.make(for: Sample.attempt("v.sms.1")))
    #expect(request.header("webhook-timestamp") == "1782907200")
    #expect(request.header("Content-Type") == "application/json")
    let expected = try WebhookSigner(Secret(oldSecret))
      .signature(id: id, timestamp: "1782907200", body: request.body ?? [])
    #expect(request.header("webhook-signature") == expected)
    let payload = try JSONDecoder().decode(Payload.self, from: Data(request.body ?? []))
    #expect(payload.type == "sms.dispatch")
    #expect(payload.timestamp == Sample.now)
    #expect(payload.data.id == "v.sms.1")
    #expect(payload.data.to == "+14155550123")
    #expect(payload.data.text == "código 482913")
    #expect(payload.data.from == "Example")
    #expect(payload.data.languageCode == "en")
    #expect(payload.data.encoding == "ucs2")
    #expect(payload.data.segments == 1)
    #expect(payload.data.deadline == Sample.now + .seconds(300))
  }

  @Test(
    arguments: [
      (200, "", "accepted -"), (202, "ok", "accepted -"), (204, "", "accepted -"),
      (200, String(repeating: "[", count: 513), "accepted -"),
      (200, #"{"reference": "m-1"}"#, "accepted m-1"),
      (200, #"{"reference": "A.b_c:d-9"}"#, "accepted A.b_c:d-9"),
      (200, #"{"reference": "482913 is your code"}"#, "accepted -"),
      (200, #"{"reference": "+14155550123"}"#, "accepted -"),
      (200, ##"{"reference": "\##(String(repeating: "x", count: 65))"}"##, "accepted -"),
      (200, #"{"reference": ""}"#, "accepted -"),
      (200, #"{"reference": 1}"#, "accepted -"), (200, #"{"reference": "a\nb"}"#, "accepted -"),
      (400, "", "refused PROVIDER_REFUSED"), (410, "", "refused PROVIDER_REFUSED"),
      (422, "", "refused PROVIDER_REFUSED"),
      (401, "", "laneDown PROVIDER_CREDENTIALS"), (404, "", "laneDown PROVIDER_CONFIGURATION"),
      (307, "", "laneDown PROVIDER_CONFIGURATION"), (429, "", "retry PROVIDER_THROTTLED"),
      (500, "", "unknown PROVIDER_ERROR"),
      (503, "", "unknown PROVIDER_ERROR"), (504, "", "unknown PROVIDER_ERROR"),
    ])
  func `Answers`(status: Int, body: String, expected: String) async throws {
    #expect(try await lane(FakeHTTP(status, body)).send(Sample.message(), Sample.attempt()).short == expected)
  }

  @Test(
    arguments: [(429, "retry PROVIDER_THROTTLED 3"), (503, "retry PROVIDER_ERROR 3"), (500, "unknown PROVIDER_ERROR")])
  func `Retry-After`(status: Int, expected: String) async throws {
    let http = FakeHTTP(status, headers: [(name: "Retry-After", value: "3")])
    #expect(try await lane(http).send(Sample.message(), Sample.attempt()).short == expected)
  }

  @Test(
    arguments: [
      "A.1700000000.{\"to\":\"+14155550199\"}", "a\r\nx: y", "", "ä", "a b", String(repeating: "x", count: 255),
    ])
  func `Nothing that a sender puts into an ID moves the borders of what is signed, or leaves its header`(id: String)
    async throws
  {
    let http = FakeHTTP(200)
    #expect(try await lane(http).send(Sample.message(), Sample.attempt(id)).short == "accepted -")
    let sent = try #require(http.requests.first?.header("webhook-id"))
    #expect(sent.wholeMatch(of: /msg_[A-Za-z0-9_-]{32}/) != nil)
    #expect(sent != WebhookID.make(for: Sample.attempt(id + "x")))
  }

  @Test func `A receiver that deduplicates is asked again under the same ID; another one never`() async throws {
    let http = FakeHTTP(200, #"{"reference": "m-1"}"#)
    #expect(
      try await lane(http, deduplicates: true).lookUp(Sample.message(), Sample.attempt())?.short == "accepted m-1")
    #expect(http.requests.first?.header("webhook-id") == WebhookID.make(for: Sample.attempt()))
    #expect(try await lane(http).lookUp(Sample.message(), Sample.attempt()) == nil)
    #expect(http.requests.count == 1)
    for status in [401, 429, 500] {
      #expect(try await lane(FakeHTTP(status), deduplicates: true).lookUp(Sample.message(), Sample.attempt()) == nil)
    }
  }

  @Test func `The secret does not print`() throws {
    let lane = try lane(FakeHTTP(200))
    var dumped = ""
    dump(lane, to: &dumped)
    #expect(!dumped.contains("49") || !dumped.contains("[49, 242"))
    #expect(!String(reflecting: lane).contains("MfKQ"))
  }
}
