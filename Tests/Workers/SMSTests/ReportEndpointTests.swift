import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPServer
import JobEngine
import Synchronization
import TestSupport
import Testing

@testable import SMS

@Suite struct ReportEndpointTests {
  private let addresses = ReportAddresses(
    publicURL: "https://sms.example.com/hooks/", secret: Secret("a secret of sixteen"), maxAge: .seconds(3600))
  private let registry = MetricsRegistry()
  private let clock = ManualClock(Sample.now)

  private static func makeSink() -> MemoryMessageSink { MemoryMessageSink(user: "sms-worker") }

  private func endpoint(_ sink: any MessageSink) throws -> ReportEndpoint {
    let table = try Shipped.table("twilio")
    let source = TwilioReports(signature: TwilioSignature(authToken: Secret("token")), table: table)
    let bird = MessageBirdReports(
      signature: MessageBirdSignature(signingKey: Secret("key")), table: try ProviderUnderTest.table("messagebird"))
    return ReportEndpoint(
      addresses: addresses, readers: ["twilio": source, "bird": bird],
      publisher: ReportPublisher(
        sink: sink, author: Author(appID: "sms-worker", userID: "sms-worker"),
        logger: ThrottledLog(Logger(label: "test", sink: NoLog()))),
      metrics: ReportMetrics(registry), clock: clock)
  }

  /// A callback as Twilio makes it, to the address that the worker gave with the message.
  private func callback(
    _ fields: [(name: String, value: String)], lane: String = "twilio", jobID: String = "v 1.sms.1",
    correlationID: String? = "v 1", token: String = "token", query: [(String, String)] = []
  ) -> HTTPServerRequest {
    let url = addresses.url(
      lane: lane, subject: .init(job: job(jobID), correlationID: correlationID), at: Sample.now)
    var text = url
    for field in fields.sorted(by: { $0.name < $1.name }) { text += field.name + field.value }
    let code = HMAC.authenticate(Array(text.utf8), key: Array(token.utf8), digest: .sha1)
    var parameters: [(name: String, value: String)] = []
    for part in url.split(separator: "?")[1].split(separator: "&") {
      let halves = part.split(separator: "=", maxSplits: 1).map(String.init)
      let value = halves[1].replacing("%20", with: " ").replacing("%1F", with: "\u{1F}")
      parameters.append((halves[0], query.first { $0.0 == halves[0] }?.1 ?? value))
    }
    return HTTPServerRequest(
      method: "POST", path: "/receipts/\(lane)", query: parameters,
      headers: ["X-Twilio-Signature": Base64.encode(code), "Content-Type": "application/x-www-form-urlencoded"],
      body: FormEncoding.encode(fields))
  }

  private func job(_ id: String) -> MessageIdentity { MessageIdentity(sender: "coordinator", messageID: id) }

  private func count(_ kind: String, lane: String = "twilio") -> Bool {
    registry.render().contains("countersign_sms_receipts_total{lane=\"\(lane)\",kind=\"\(kind)\"} 1")
  }

  @Test func `A delivered message is published for whoever asked, once for each report`() async throws {
    let sink = Self.makeSink()
    let endpoint = try endpoint(sink)
    let request = callback([("MessageSid", "SM1"), ("MessageStatus", "delivered")])
    for _ in 1...2 { #expect(await endpoint.answer(request).status == 204) }
    let publications = sink.published
    #expect(publications.count == 2)
    let publication = try #require(publications.first)
    #expect(publication.exchange == "countersign.results" && publication.routingKey == "sms.delivery.delivered")
    #expect(publication.message.correlationID == "v 1" && publication.message.type == "sms.delivery.result.v1")
    #expect(publication.mandatory && publication.message.isPersistent)
    // A repetition can be told to be one.
    #expect(Set(publications.map(\.message.messageID)) == ["v 1.sms.1.delivered"])
    #expect(
      try SMSDeliveryReport(json: publication.message.body)
        == SMSDeliveryReport(jobID: "v 1.sms.1", state: .delivered, lane: "twilio", reference: "SM1", at: Sample.now))
  }

  @Test func `An undelivered SMS has a reason of the contract`() async throws {
    let sink = Self.makeSink()
    let request = callback([("ErrorCode", "30005"), ("MessageSid", "SM1"), ("MessageStatus", "undelivered")])
    #expect(await (try endpoint(sink)).answer(request).status == 204)
    let delivery = try SMSDeliveryReport(json: try #require(sink.published.first).message.body)
    #expect(delivery.state == .undelivered)
    #expect(delivery.reason?.code == "UNKNOWN_NUMBER" && delivery.reason?.providerCode == "30005")
    #expect(count("undelivered"))
  }

  @Test(arguments: ["queued", "sending", "sent", "a word of tomorrow"])
  func `On the way is no end`(status: String) async throws {
    let sink = Self.makeSink()
    #expect(await (try endpoint(sink)).answer(callback([("MessageStatus", status)])).status == 204)
    #expect(sink.published.isEmpty && count("progress"))
  }

  @Test func `A report that the provider did not sign, or about another message, is refused and counted`() async throws
  {
    let fields = [(name: "MessageSid", value: "SM1"), (name: "MessageStatus", value: "delivered")]
    for request in [
      callback(fields, token: "guessed"), callback(fields, query: [("job", "v 2.sms.1")]),
      callback(fields, query: [("correlation", "v 2")]), callback(fields, query: [("mac", "AAAA")]),
      HTTPServerRequest(method: "POST", path: "/receipts/twilio"),
    ] {
      let sink = Self.makeSink()
      #expect(await (try endpoint(sink)).answer(request).status == 403)
      #expect(sink.published.isEmpty)
    }
    #expect(registry.render().contains("kind=\"forged\"} 5"))
  }

  /// A report by the query of a GET, as MessageBird makes it, to the address that the worker gave with the message.
  private func query(
    _ query: String, jobID: String = "v/1?.sms&1", correlationID: String? = "v/1", told: String? = nil
  ) throws -> HTTPServerRequest {
    let given = addresses.url(
      lane: "bird", subject: .init(job: job(jobID), correlationID: correlationID), at: Sample.now, form: .path)
    let url = (told ?? given) + "?" + query
    let hash = Hexadecimal.encode(SHA256.hash(Array(url.utf8)))
    let seconds = clock.now().seconds
    let claims = #"{"iss":"MessageBird","nbf":\#(seconds),"exp":\#(seconds + 60),"url_hash":"\#(hash)"}"#
    return HTTPServerRequest(
      method: "GET", target: String(url.dropFirst("https://sms.example.com/hooks".count)),
      headers: ["MessageBird-Signature-JWT": try JWS.sign(Array(claims.utf8), secret: Array("key".utf8))])
  }

  @Test func `An address whose query is the provider's own says whom a report is about too`() async throws {
    for correlationID in ["v/1", nil] {
      let sink = Self.makeSink()
      let request = try query("id=R1&status=delivered", correlationID: correlationID)
      // Only this is a success to MessageBird.
      #expect(await (try endpoint(sink)).answer(request).status == 200)
      let message = try #require(sink.published.first).message
      #expect(message.correlationID == correlationID)
      #expect(
        try SMSDeliveryReport(json: message.body)
          == SMSDeliveryReport(jobID: "v/1?.sms&1", state: .delivered, lane: "bird", reference: "R1", at: Sample.now))
    }
  }

  @Test func `A signed report to an address that was not given is refused, and one to an old one`() async throws {
    let given = addresses.url(
      lane: "bird", subject: .init(job: job("a"), correlationID: nil), at: Sample.now, form: .path)
    for told in [
      given.replacing("%1Fa", with: "%1Fb"), given + "/c", given.replacing("/coordinator%1Fa", with: ""),
      given + "/c/d",
      "https://sms.example.com/hooks/receipts/bird/",
    ] {
      let sink = Self.makeSink()
      #expect(await (try endpoint(sink)).answer(try query("status=delivered", told: told)).status == 403, "\(told)")
      #expect(sink.published.isEmpty)
    }
    #expect(registry.render().contains("lane=\"bird\",kind=\"forged\"} 5"))
    clock.advance(by: .seconds(3601))
    #expect(await (try endpoint(Self.makeSink())).answer(try query("status=delivered", told: given)).status == 403)
    #expect(count("stale", lane: "bird"))
  }

  @Test func `The time that a provider names is not after now`() async throws {
    let sink = Self.makeSink()
    let request = try query("id=R1&status=delivered&statusDatetime=2036-05-03T08%3A58%3A10%2B00%3A00")
    #expect(await (try endpoint(sink)).answer(request).status == 200)
    #expect(try SMSDeliveryReport(json: try #require(sink.published.first).message.body).at == Sample.now)
  }

  @Test func `A report that comes too late is refused and counted`() async throws {
    let sink = Self.makeSink()
    let request = callback([("MessageStatus", "delivered")])
    clock.advance(by: .seconds(3601))
    #expect(await (try endpoint(sink)).answer(request).status == 403)
    #expect(sink.published.isEmpty && count("stale"))
  }

  @Test func `A lane that is not there, another method, a body that is no form`() async throws {
    let endpoint = try endpoint(Self.makeSink())
    #expect(await endpoint.answer(callback([], lane: "nobody")).status == 404)
    #expect(count("unknown_lane", lane: "other"))
    #expect(await endpoint.answer(HTTPServerRequest(method: "GET", path: "/receipts/twilio")).status == 405)
    // Signed, and without a status.
    #expect(await endpoint.answer(callback([("MessageSid", "SM1")])).status == 400)
  }

  @Test(
    arguments: [
      Result<PublishOutcome, AMQPError>.success(.nacked), .success(.returned(code: 312, text: "NO_ROUTE")),
      .failure(AMQPError(.closed, "stopped")), .failure(AMQPError(.timedOut, "no answer")),
    ])
  func `While the broker does not take it, the provider is asked to come again`(
    outcome: Result<PublishOutcome, AMQPError>
  ) async throws {
    let sink = Self.makeSink()
    switch outcome {
    case .success(let answer): sink.answer { _ in answer }
    case .failure(let error): sink.fail(error)
    }
    let answer = await (try endpoint(sink)).answer(callback([("MessageStatus", "delivered")]))
    #expect(answer.status == 503)
    #expect(sink.lastTimeout == ReportPublisher.timeout, "a provider's connection must not wait forever")
    #expect(count("unpublished"))
  }

  @Test func `Without a broker the provider is asked to come again at once, and nothing waits here`() async throws {
    let sink = Self.makeSink()
    sink.loseConnection()
    #expect(await (try endpoint(sink)).answer(callback([("MessageStatus", "delivered")])).status == 503)
    #expect(sink.published.isEmpty && count("unpublished"))
  }

  @Test func `Jobs and correlation IDs that differ only in where one ends have addresses with codes of their own`() {
    func code(_ jobID: String, _ correlationID: String?) -> Substring? {
      addresses.url(lane: "twilio", subject: .init(job: job(jobID), correlationID: correlationID), at: Sample.now)
        .split(separator: "&mac=").last
    }
    #expect(code("a", "b") == code("a", "b"))
    #expect(code("a\0b", "c") != code("a", "b\0c"))
    #expect(code("a", nil) != code("a", ""))
  }

  @Test func `Without a correlation ID too`() async throws {
    let sink = Self.makeSink()
    let request = callback([("MessageStatus", "delivered")], correlationID: nil)
    #expect(await (try endpoint(sink)).answer(request).status == 204)
    #expect(sink.published.first?.message.correlationID == nil)
  }
}
