import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import HTTPServer
import JobEngine
import Testing

@testable import SMS

@Suite struct HTTPLaneTests {
  private func vonage(
    _ http: FakeHTTP, from: String = "Example", callbacks: ReportAddresses? = nil
  ) throws -> VonageLane {
    VonageLane(
      context: LaneContext("v", try ProviderUnderTest.table("vonage"), http),
      configuration: VonageConfiguration(baseURL: "http://127.0.0.1:1", apiKey: "k", from: from),
      secret: Secret("s"), addresses: callbacks)
  }

  private func messageBird(_ http: FakeHTTP, callbacks: ReportAddresses? = nil) throws -> MessageBirdLane {
    MessageBirdLane(
      context: LaneContext("m", try ProviderUnderTest.table("messagebird"), http),
      configuration: MessageBirdConfiguration(baseURL: "http://127.0.0.1:1", from: "Example"),
      accessKey: Secret("s"), addresses: callbacks)
  }

  @Test func `Vonage and MessageBird are told where to report, at an address without a query of its own`() async throws
  {
    let addresses = ReportAddresses(
      publicURL: "https://sms.example.com", secret: Secret("a secret of sixteen"), maxAge: .seconds(3600))
    let attempt = Sample.attempt(String(repeating: "j", count: 200))
    let http = FakeHTTP(200)
    _ = try await vonage(http, callbacks: addresses).send(Sample.message(), attempt)
    _ = try await messageBird(http, callbacks: addresses).send(Sample.message(), attempt)
    let form = FormEncoding.decode(try #require(http.requests[0].body))
    let toVonage = try #require(form.first { $0.name == "callback" }?.value)
    #expect(form.first { $0.name == "status-report-req" }?.value == "true")
    struct Body: Decodable {
      let reportUrl: String
      let reference: String
    }
    let toBird = try JSONDecoder().decode(Body.self, from: Data(http.requests[1].body ?? []))
    // Longer ones are refused.
    #expect(toBird.reference.count == 128)
    for (lane, url) in [("v", toVonage), ("m", toBird.reportUrl)] {
      #expect(!url.contains("?"))
      let request = HTTPServerRequest(
        method: "GET", target: String(url.dropFirst("https://sms.example.com".count)) + "?a=1")
      #expect(ReportAddresses.lane(of: request) == lane)
      let resolution = try addresses.resolve(request, lane: lane, now: Sample.now)
      #expect(resolution.subject.job == attempt.job && resolution.subject.correlationID == nil)
      #expect(resolution.url == url + "?a=1")
    }
  }

  private func aws(_ http: FakeHTTP, _ adjust: (inout AWSConfiguration) -> Void = { _ in }) throws -> AWSLane {
    var configuration = AWSConfiguration(baseURL: "https://sms-voice.eu-central-1.amazonaws.com", from: "pool-1")
    adjust(&configuration)
    return AWSLane(
      context: LaneContext("a", try ProviderUnderTest.table("aws"), http), configuration: configuration,
      signer: AWSSigner(accessKeyID: "AKIDEXAMPLE0000001", secretKey: Secret("s"), region: "eu-central-1"))
  }

  @Test(
    arguments: [
      (["0", "0"], "accepted id-1"), (["0", "1"], "unknown PARTLY_SENT"), (["7", "0"], "unknown PARTLY_SENT"),
      (["1", "1"], "retry PROVIDER_THROTTLED"), (["1", "5"], "unknown PROVIDER_ERROR"),
      (["6"], "otherLane NOT_ROUTABLE"),
      (["9"], "laneDown PROVIDER_ACCOUNT"), (["15"], "otherLane SENDER_NOT_ALLOWED"),
      (["33"], "refused UNKNOWN_NUMBER"),
      (["999"], "refused PROVIDER_REFUSED"), ([], "unknown PROVIDER_ERROR"),
    ])
  func `Vonage's truth is in the parts`(statuses: [String], expected: String) async throws {
    let parts = statuses.enumerated().map { #"{"status":"\#($1)","message-id":"id-\#($0 + 1)"}"# }
    let http = FakeHTTP(200, #"{"message-count":"\#(parts.count)","messages":[\#(parts.joined(separator: ","))]}"#)
    #expect(await (try vonage(http)).send(Sample.message(), Sample.attempt()).short == expected)
  }

  @Test(
    arguments: ["", "<html>", #"{"messages":[{}]}"#, String(repeating: "[", count: 513)])
  func `An unreadable answer of Vonage leaves the outcome unknown`(body: String) async throws {
    #expect(
      await (try vonage(FakeHTTP(200, body))).send(Sample.message(), Sample.attempt()).short == "unknown PROVIDER_ERROR"
    )
  }

  @Test func `Vonage is told the alphabet, and a reference that it takes`() async throws {
    let http = FakeHTTP(200, "{}")
    _ = try await vonage(http).send(Sample.message("код 123456"), Sample.attempt(String(repeating: "j", count: 41)))
    let form = try #require(http.requests.first).bodyText
    #expect(form.contains("&type=unicode&") && form.contains("from=Example&to=14155550123"))
    #expect(!form.contains("client-ref"))
    #expect(!http.requests[0].isIdempotent)
  }

  @Test(
    arguments: [
      ("vonage", 200, #"{"value": 10.28, "autoReload": false}"#, "cannotTell"),
      ("vonage", 200, #"{"value": 0, "autoReload": false}"#, "PROVIDER_ACCOUNT"),
      ("vonage", 200, #"{"value": -1, "autoReload": true}"#, "cannotTell"),
      ("vonage", 200, String(repeating: "[", count: 513), "cannotTell"),
      ("vonage", 200, "<html>", "cannotTell"), ("vonage", 401, "", "PROVIDER_CREDENTIALS"),
      ("vonage", 404, "", "cannotTell"),
      ("messagebird", 200, #"{"payment": "prepaid", "type": "credits", "amount": 9.2}"#, "cannotTell"),
      ("messagebird", 200, #"{"payment": "prepaid", "type": "credits", "amount": 0}"#, "PROVIDER_ACCOUNT"),
      ("messagebird", 200, #"{"payment": "postpaid", "type": "euros", "amount": 0}"#, "cannotTell"),
      ("messagebird", 401, #"{"errors": [{"code": 2}]}"#, "PROVIDER_CREDENTIALS"),
      ("aws", 200, #"{"AccountAttributes": []}"#, "cannotTell"),
      ("aws", 400, #"{"__type": "UnrecognizedClientException"}"#, "PROVIDER_CREDENTIALS"),
      ("aws", 400, #"{"__type": "com.amazon#ExpiredTokenException"}"#, "PROVIDER_CREDENTIALS"),
      ("aws", 400, #"{"__type": "AccessDeniedException"}"#, "cannotTell"), ("aws", 503, "", "cannotTell"),
    ])
  func
    `A lane that is down is asked by reading the account: what it says of credentials and credit is believed, and no more`(
      provider: String, status: Int, body: String, expected: String
    ) async throws
  {
    let http = FakeHTTP(status, body)
    let lane: any SMSLane =
      switch provider {
      case "vonage": try vonage(http)
      case "messagebird": try messageBird(http)
      default: try aws(http)
      }
    #expect(Self.text(await lane.probe()) == expected)
    let request = try #require(http.requests.first)
    switch provider {
    case "vonage":
      #expect(request.url == "http://127.0.0.1:1/account/get-balance" && request.method == "GET")
      #expect(request.header("Authorization") == "Basic azpz")
    case "messagebird":
      #expect(request.url == "http://127.0.0.1:1/balance" && request.header("Authorization") == "AccessKey s")
    default: #expect(request.header("x-amz-target") == "PinpointSMSVoiceV2.DescribeAccountAttributes")
    }
  }

  private static func text(_ result: ProbeResult) -> String {
    switch result {
    case .up: "up"
    case .down(let reason): reason.code
    case .cannotTell: "cannotTell"
    }
  }

  @Test func `A provider that cannot be reached is still away`() async throws {
    let http = FakeHTTP { () throws(TransportError) -> HTTPResponse in
      throw TransportError(kind: .connect, requestMayHaveLeft: false, description: "refused")
    }
    for lane in [try vonage(http), try messageBird(http), try aws(http)] as [any SMSLane] {
      #expect(Self.text(await lane.probe()) == "NOT_CONNECTED")
    }
  }

  @Test(
    arguments: ["", "<html>", "{}", #"{"id":null}"#, String(repeating: "[", count: 513)])
  func `Nor what others say with a success but without an ID: a page of a gateway is no answer`(body: String)
    async throws
  {
    for status in [200, 201, 204] {
      let http = FakeHTTP(status, body)
      #expect(
        await (try messageBird(http)).send(Sample.message(), Sample.attempt()).short == "unknown PROVIDER_ERROR")
      #expect(await (try aws(http)).send(Sample.message(), Sample.attempt()).short == "unknown PROVIDER_ERROR")
    }
  }

  @Test(
    arguments: [
      (422, 10, "recipients", "refused INVALID_NUMBER"), (422, 10, "originator", "laneDown PROVIDER_CONFIGURATION"),
      (422, 10, "elephant", "refused INVALID_REQUEST"), (422, 9, nil, "refused INVALID_REQUEST"),
      (402, 25, nil, "laneDown PROVIDER_ACCOUNT"), (500, 99, nil, "unknown PROVIDER_ERROR"),
      (200, 10, "body", "refused INVALID_TEXT"), (422, 1234, nil, "refused PROVIDER_REFUSED"),
    ] as [(Int, Int, String?, String)])
  func `MessageBird's codes, with the parameter that they are about`(
    status: Int, code: Int, parameter: String?, expected: String
  )
    async throws
  {
    let about = parameter.map { "\"\($0)\"" } ?? "null"
    let http = FakeHTTP(status, #"{"errors":[{"code":\#(code),"description":"d","parameter":\#(about)}]}"#)
    #expect(await (try messageBird(http)).send(Sample.message(), Sample.attempt()).short == expected)
  }

  @Test func `A message that MessageBird sends to nobody is refused`() async throws {
    let http = FakeHTTP(201, #"{"id":"m1","recipients":{"totalSentCount":0}}"#)
    #expect(await (try messageBird(http)).send(Sample.message(), Sample.attempt()).short == "refused PROVIDER_REFUSED")
  }

  @Test func `MessageBird is told the alphabet`() async throws {
    let http = FakeHTTP(201, #"{"id":"m1"}"#)
    #expect(await (try messageBird(http)).send(Sample.message("код"), Sample.attempt()).short == "accepted m1")
    #expect(http.requests.first?.bodyText.contains(#""datacoding":"unicode""#) == true)
  }

  @Test(
    arguments: [
      (#"{"__type":"ConflictException","Reason":"DESTINATION_PHONE_NUMBER_OPTED_OUT"}"#, "refused OPTED_OUT"),
      (#"{"__type":"ConflictException","Reason":"A_NEW_ONE"}"#, "refused PROVIDER_REFUSED"),
      (
        #"{"__type":"ConflictException","Reason":"DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION"}"#,
        "otherLane REGION_NOT_ENABLED"
      ),
      (#"{"__type":"a#ValidationException","Reason":"PRICE_OVER_THRESHOLD"}"#, "otherLane PRICE_TOO_HIGH"),
      (
        #"{"__type":"ValidationException","Reason":"FIELD_VALIDATION_FAILED","Fields":[{"Name":"OriginationIdentity"}]}"#,
        "laneDown PROVIDER_CONFIGURATION"
      ),
      (
        #"{"__type":"ValidationException","Reason":"INVALID_PARAMETER","Fields":[{"Name":"DestinationPhoneNumber"}]}"#,
        "refused INVALID_NUMBER"
      ),
      (#"{"__type":"ServiceQuotaExceededException"}"#, "laneDown PROVIDER_ACCOUNT"),
      (#"{"__type":"AccessDeniedException","Reason":"ACCOUNT_DISABLED"}"#, "laneDown PROVIDER_ACCOUNT"),
      (#"{"__type":"InvalidSignatureException"}"#, "laneDown PROVIDER_CREDENTIALS"), ("", "refused PROVIDER_REFUSED"),
    ])
  func `AWS's exceptions, with their reasons and fields`(body: String, expected: String) async throws {
    #expect(await (try aws(FakeHTTP(400, body))).send(Sample.message(), Sample.attempt()).short == expected)
  }

  @Test func `The exception may be in a header, with an address behind it`() async throws {
    let http = FakeHTTP(
      400, "{}", headers: [(name: "x-amzn-ErrorType", value: "ThrottlingException:http://internal.amazon.com/coral/")])
    #expect(await (try aws(http)).send(Sample.message(), Sample.attempt()).short == "retry PROVIDER_THROTTLED")
  }

  @Test func `The configuration of AWS is in the request`() async throws {
    let http = FakeHTTP(200, "{}")
    let lane = try aws(http) { configuration in
      configuration.messageType = .promotional
      configuration.configurationSet = "set-1"
      configuration.protectConfigurationID = "protect-1"
      configuration.maxPrice = "0.10"
    }
    _ = await lane.send(Sample.message(), Sample.attempt("a b"))
    let request = try #require(http.requests.first)
    #expect(request.url == "https://sms-voice.eu-central-1.amazonaws.com/")
    #expect(request.header("host") == "sms-voice.eu-central-1.amazonaws.com")
    for field in [
      #""MessageType":"PROMOTIONAL""#, #""ConfigurationSetName":"set-1""#, #""ProtectConfigurationId":"protect-1""#,
      #""MaxPrice":"0.10""#, #""Context":{}"#,
    ] { #expect(request.bodyText.contains(field)) }
  }

  @Test func `With less left than a provider's shortest validity nothing is sent`() async throws {
    let http = FakeHTTP(200, "{}")
    let lanes: [any SMSLane] = [try vonage(http), try messageBird(http), try aws(http)]
    for (lane, seconds) in zip(lanes, [19, 0, 4]) {
      let outcome = await lane.send(Sample.message(), Sample.attempt(secondsLeft: seconds))
      #expect(outcome.short == "tooLate DEADLINE_TOO_NEAR")
    }
    #expect(http.requests.isEmpty)
  }

  @Test func `A validity is never longer than the provider's longest`() throws {
    let attempt = Sample.attempt(secondsLeft: 10_000_000)
    #expect(LaneRequest.validity(of: attempt, within: VonageConfiguration.validity) == 604_800)
    #expect(LaneRequest.validity(of: attempt, within: AWSConfiguration.validity) == 259_200)
  }
}

@Suite struct AWSSignerTests {
  private let body = Array(#"{"DestinationPhoneNumber":"+14155550123"}"#.utf8)
  private let headers = [
    (name: "content-type", value: "application/x-amz-json-1.0"),
    (name: "host", value: "sms-voice.eu-central-1.amazonaws.com"),
    (name: "x-amz-target", value: "PinpointSMSVoiceV2.SendTextMessage"),
  ]

  private func signature(sessionToken: String?) -> String? {
    let signer = AWSSigner(
      accessKeyID: "AKIDEXAMPLE0000001", secretKey: Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
      sessionToken: sessionToken.map { Secret($0) }, region: "eu-central-1")
    return signer.sign(headers, payload: body, now: Sample.now + .milliseconds(700)).last?.value
  }

  @Test func `The signatures are those that botocore 1.35 makes`() {
    let scope = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE0000001/20260701/eu-central-1/sms-voice/aws4_request, "
    #expect(
      signature(sessionToken: nil) == scope + "SignedHeaders=content-type;host;x-amz-date;x-amz-target, "
        + "Signature=f0072b48b90170c4c2f3f381a851fa5452358cdb4e22f0f1b24e49b0ec6209fc")
    #expect(
      signature(sessionToken: "session-token-1") == scope
        + "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, "
        + "Signature=8fc288caaed7a3a76f62871b6f380f31554e4ab0d630ac9939ecf18b159c7289")
  }
}
