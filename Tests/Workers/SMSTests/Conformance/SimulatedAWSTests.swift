import CountersignTelemetry
import HTTPClient
import JobEngine
import Simulation
import TestSupport
import Testing

@testable import SMS

/// The lane to AWS against the stand-in that checks whole requests, as AWS does.
@Suite("AWS, simulated", .timeLimit(.minutes(10)))
struct SimulatedAWSTests {
  private struct Meddler: HTTPCaller {
    let http: HTTPClient
    var change: @Sendable (inout HTTPRequest) -> Void = { _ in }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
      var request = request
      change(&request)
      return try await http.send(request)
    }
  }

  private struct Given: Sendable {
    var accessKeyID = "AKIDSIMULATED00001"
    var secretKey = "simulated-secret-access-key"
    var sessionToken: String?
    var region = "eu-central-1"
    var from = "Example"
    var to = "+34612345678"
    var text = "482913 is your code"
    var ahead: Duration = .zero
    var fault: String?
    var change: @Sendable (inout HTTPRequest) -> Void = { _ in }
  }

  private func send(
    _ change: (inout Given) -> Void = { _ in }, _ settings: (inout AWSMessagingSettings) -> Void = { _ in }
  ) async throws -> (outcome: String, code: String?, received: Int) {
    var given = Given()
    change(&given)
    var simulated = SimulatorSettings()
    settings(&simulated.aws)
    let simulator = try Simulator(simulated, clock: ManualClock(Sample.now))
    let http = try HTTPClient()
    if let fault = given.fault {
      let order = HTTPRequest(
        method: "POST", url: simulator.url + "/control/faults", body: Array("{\"fault\":\"\(fault)\"}".utf8),
        timeouts: .patient)
      #expect(try await http.send(order).status == 201)
    }
    let signer = AWSSigner(
      accessKeyID: given.accessKeyID, secretKey: Secret(given.secretKey),
      sessionToken: given.sessionToken.map { Secret($0) }, region: given.region)
    let context = LaneContext(
      "aws", try ProviderUnderTest.table("aws"), Meddler(http: http, change: given.change),
      clock: ManualClock(Sample.now + given.ahead))
    let lane = AWSLane(
      context: context, configuration: AWSConfiguration(baseURL: simulator.url, from: given.from), signer: signer)
    let message = OutgoingSMS(to: given.to, text: SMSText(given.text), languageCode: "en")
    let outcome = await lane.send(message, Sample.attempt(timeout: .patience))
    let shown = try await http.send(
      HTTPRequest(method: "GET", url: simulator.url + "/control/sms", timeouts: .patient))
    let received = String(decoding: shown.body, as: UTF8.self).split(separator: "\"provider\":\"aws\"").count - 1
    await http.shutdown()
    await simulator.stop()
    return (outcome.short, outcome.reason?.providerCode, received)
  }

  @Test func `A message is taken and shown`() async throws {
    let sent = try await send()
    #expect(sent.outcome.hasPrefix("accepted "))
    // A UUID.
    #expect(sent.outcome.count == "accepted ".count + 36)
    #expect(sent.received == 1)
  }

  @Test func `A session token is asked for, and only the right one is taken`() async throws {
    func outcome(_ token: String?) async throws -> String? {
      let sent = try await send({ $0.sessionToken = token }, { $0.sessionToken = Secret("token/+=") })
      return sent.code ?? sent.outcome
    }
    #expect(try await outcome("token/+=")?.hasPrefix("accepted ") == true)
    #expect(try await outcome("another") == "ExpiredTokenException")
    #expect(try await outcome(nil) == "UnrecognizedClientException")
  }

  @Test func `Credentials, region and clock that are wrong take the lane down`() async throws {
    let cases: [(String, @Sendable (inout Given) -> Void)] = [
      ("UnrecognizedClientException", { $0.accessKeyID = "AKIDANOTHER0000001" }),
      ("InvalidSignatureException", { $0.secretKey = "another" }),
      ("InvalidSignatureException", { $0.region = "eu-west-1" }),
      ("InvalidSignatureException", { $0.ahead = .seconds(301) }),
      ("InvalidSignatureException", { $0.ahead = .seconds(-301) }),
    ]
    for (code, change) in cases {
      let sent = try await send(change)
      #expect(sent.outcome == "laneDown PROVIDER_CREDENTIALS")
      #expect(sent.code == code)
      #expect(sent.received == 0)
    }
  }

  @Test func `A request that is changed on its way is not the one that was signed`() async throws {
    let changes: [(String, @Sendable (inout HTTPRequest) -> Void)] = [
      ("InvalidSignatureException", { $0.body = ($0.body ?? []) + [0x20] }),
      ("InvalidSignatureException", { $0.headers.add(name: "X-Amz-Unsigned", value: "1") }),
      ("UnknownOperationException", { $0.url += "elsewhere" }),
      ("UnknownOperationException", { $0.method = "PUT" }),
      (
        "UnknownOperationException",
        { $0.headers = $0.headers.with("x-amz-target", "PinpointSMSVoiceV2.SendVoiceMessage") }
      ),
      ("UnknownOperationException", { $0.headers = $0.headers.with("content-type", "application/json") }),
      ("MissingAuthenticationTokenException", { $0.headers = $0.headers.with("authorization", nil) }),
      ("IncompleteSignatureException", { $0.headers = $0.headers.with("authorization", "AWS4-HMAC-SHA256 nonsense") }),
    ]
    for (code, change) in changes {
      let sent = try await send({ $0.change = change })
      #expect(sent.code == code)
      #expect(sent.received == 0)
    }
  }

  @Test func `Refusals of AWS are classified by the table`() async throws {
    let cases: [(String, @Sendable (inout Given) -> Void)] = [
      ("laneDown PROVIDER_CONFIGURATION", { $0.from = "Nobody" }),
      ("refused INVALID_NUMBER", { $0.to = "+15005550001" }),
      ("otherLane NOT_ROUTABLE", { $0.to = "+15005550002" }),
      ("otherLane REGION_NOT_ENABLED", { $0.to = "+15005550003" }),
      ("refused OPTED_OUT", { $0.to = "+15005550004" }),
      ("refused INVALID_TEXT", { $0.text = String(repeating: "x", count: 1_601) }),
    ]
    for (outcome, change) in cases {
      let sent = try await send(change)
      #expect(sent.outcome == outcome)
      #expect(sent.received == 0)
    }
  }

  @Test(
    arguments: [
      ("429", "retry PROVIDER_THROTTLED"), ("500", "unknown PROVIDER_ERROR"), ("reset", "unknown NO_ANSWER"),
      ("close", "unknown NO_ANSWER"),
    ])
  func `It fails on demand`(fault: String, outcome: String) async throws {
    let sent = try await send({ $0.fault = fault })
    #expect(sent.outcome == outcome)
    #expect(sent.received == 0)
  }
}

extension HTTPHeaders {
  fileprivate func with(_ name: String, _ value: String?) -> HTTPHeaders {
    HTTPHeaders(
      fields.compactMap { field in
        guard field.name == name else { return (name: field.name, value: field.value) }
        return value.map { (name: name, value: $0) }
      })
  }
}
