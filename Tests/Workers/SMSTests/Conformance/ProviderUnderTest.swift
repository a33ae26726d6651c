import CountersignTelemetry
import FoundationEssentials
import HTTPServer
import JobEngine
import Testing

@testable import SMS

/// A provider as the conformance suite sees it: how a lane to it is made, what it takes, and how it says what.
struct ProviderUnderTest: Sendable, CustomTestStringConvertible {
  let name: String
  let lane: @Sendable (_ port: UInt16, _ http: any HTTPCaller) throws -> any SMSLane
  /// Problem of a request as the provider sees it. `nil` if it takes the request.
  let problem: @Sendable (HTTPServerRequest) -> String?
  let accepted: HTTPServerResponse
  let reference: String
  let refused: HTTPServerResponse
  let throttled: HTTPServerResponse
  let badCredentials: HTTPServerResponse
  let failed: HTTPServerResponse

  var testDescription: String { name }

  static let all = [twilio, webhook, vonage, messageBird, aws]

  static func table(_ name: String) throws -> ProviderTable {
    try Shipped.table(name)
  }

  fileprivate static func json(_ status: Int, _ text: String, _ headers: HTTPServerHeaders = [:]) -> HTTPServerResponse
  {
    HTTPServerResponse(status: status, headers: headers, body: Array(text.utf8))
  }

  /// The fields of a form, decoded. Nil when it is none or has a field twice.
  fileprivate static func form(_ request: HTTPServerRequest) -> [String: String]? {
    guard request.method == "POST", request.headers["Content-Type"] == "application/x-www-form-urlencoded" else {
      return nil
    }
    var fields: [String: String] = [:]
    for pair in String(decoding: request.body, as: UTF8.self).split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(decoded)
      guard parts.count == 2, let name = parts[0], let value = parts[1],
        fields.updateValue(value, forKey: name) == nil
      else { return nil }
    }
    return fields
  }

  private static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
        continue
      }
      guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else { return nil }
      rest = rest.dropFirst(2)
      bytes.append(value)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  fileprivate static func object<Value: Decodable>(_ request: HTTPServerRequest, _ type: Value.Type) -> Value? {
    try? JSONDecoder().decode(type, from: Data(request.body))
  }

  fileprivate static let text = "482913 is your code"
}

// MARK: - Those that came first

extension ProviderUnderTest {
  static let twilio = ProviderUnderTest(
    name: "twilio",
    lane: { port, http in
      TwilioLane(
        TwilioConfiguration(
          baseURL: "http://127.0.0.1:\(port)", accountSID: "AC1", username: nil, sender: .number("+15005550006")),
        password: Secret("sesame"), LaneContext("lane", try table("twilio"), http), nil)
    },
    problem: { request in
      guard request.headers["Authorization"] == "Basic QUMxOnNlc2FtZQ==" else { return "credentials" }
      guard request.path == "/2010-04-01/Accounts/AC1/Messages.json", let form = form(request) else { return "form" }
      return form == ["To": "+14155550123", "Body": text, "From": "+15005550006", "ValidityPeriod": "300"]
        ? nil : "fields \(form)"
    },
    accepted: json(201, #"{"sid":"R1","status":"queued"}"#), reference: "R1",
    refused: json(400, #"{"code":21211,"status":400}"#),
    throttled: json(429, #"{"code":20429,"status":429}"#, ["Retry-After": "7"]),
    badCredentials: json(401, #"{"code":20003,"status":401}"#), failed: json(500, #"{"code":20500,"status":500}"#))

  static let webhook = ProviderUnderTest(
    name: "webhook",
    lane: { port, http in
      WebhookLane(
        context: LaneContext("lane", try table("webhook"), http), deduplicates: false,
        url: "http://127.0.0.1:\(port)/sms", from: "+15005550006",
        signer: try WebhookSigner(Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")))
    },
    problem: { request in
      guard request.headers["webhook-signature"]?.hasPrefix("v1,") == true else { return "signature" }
      return request.headers["webhook-id"]?.hasPrefix("msg_") == true && request.path == "/sms" ? nil : "headers"
    },
    accepted: json(202, #"{"reference":"R1"}"#), reference: "R1", refused: json(422, "{}"),
    throttled: json(429, "{}", ["Retry-After": "7"]), badCredentials: json(401, "{}"), failed: json(500, "{}"))
}

// MARK: - Vonage

extension ProviderUnderTest {
  static let vonage = ProviderUnderTest(
    name: "vonage",
    lane: { port, http in
      VonageLane(
        context: LaneContext("lane", try table("vonage"), http),
        configuration: VonageConfiguration(
          baseURL: "http://127.0.0.1:\(port)/", apiKey: "abcd1234", from: "+15005550006"),
        secret: Secret("sesame"), addresses: nil)
    },
    problem: { request in
      guard request.path == "/sms/json", let form = form(request) else { return "form" }
      let expected = [
        "api_key": "abcd1234", "api_secret": "sesame", "from": "15005550006", "to": "14155550123", "text": text,
        "type": "text", "ttl": "300000", "client-ref": "job-1",
      ]
      return form == expected ? nil : "fields \(form)"
    },
    // 200 whatever happens: the truth is in the parts.
    accepted: json(200, #"{"message-count":"1","messages":[{"to":"14155550123","message-id":"R1","status":"0"}]}"#),
    reference: "R1", refused: vonagePart("7"), throttled: vonagePart("1"), badCredentials: vonagePart("4"),
    failed: vonagePart("5"))

  private static func vonagePart(_ status: String) -> HTTPServerResponse {
    json(200, #"{"message-count":"1","messages":[{"status":"\#(status)","error-text":"an error of +14155550123"}]}"#)
  }
}

// MARK: - MessageBird

extension ProviderUnderTest {
  private struct BirdMessage: Decodable, Equatable {
    var originator: String
    var recipients: [String]
    var body: String
    var type: String
    var datacoding: String
    var validity: Int
    var reference: String
  }

  static let messageBird = ProviderUnderTest(
    name: "messagebird",
    lane: { port, http in
      MessageBirdLane(
        context: LaneContext("lane", try table("messagebird"), http),
        configuration: MessageBirdConfiguration(baseURL: "http://127.0.0.1:\(port)", from: "+15005550006"),
        accessKey: Secret("live_sesame"), addresses: nil)
    },
    problem: { request in
      guard request.headers["Authorization"] == "AccessKey live_sesame" else { return "credentials" }
      guard request.method == "POST", request.path == "/messages", let message = object(request, BirdMessage.self)
      else {
        return "body"
      }
      let expected = BirdMessage(
        originator: "15005550006", recipients: ["14155550123"], body: text, type: "sms", datacoding: "plain",
        validity: 300, reference: "job-1")
      return message == expected ? nil : "fields \(message)"
    },
    accepted: json(
      201, #"{"id":"R1","recipients":{"totalCount":1,"totalSentCount":1,"items":[{"status":"sent"}]}}"#),
    reference: "R1", refused: bird(422, 10, "recipients"),
    throttled: json(429, #"{"errors":[]}"#, ["Retry-After": "7"]), badCredentials: bird(401, 2, "access_key"),
    failed: bird(500, 99, nil))

  private static func bird(_ status: Int, _ code: Int, _ parameter: String?) -> HTTPServerResponse {
    let about = parameter.map { "\"\($0)\"" } ?? "null"
    return json(status, #"{"errors":[{"code":\#(code),"description":"of +14155550123","parameter":\#(about)}]}"#)
  }
}

// MARK: - AWS

extension ProviderUnderTest {
  private struct AWSMessage: Decodable, Equatable {
    var destinationPhoneNumber: String
    var originationIdentity: String
    var messageBody: String
    var messageType: String
    var timeToLive: Int
    var context: [String: String]

    enum CodingKeys: String, CodingKey {
      case destinationPhoneNumber = "DestinationPhoneNumber"
      case originationIdentity = "OriginationIdentity"
      case messageBody = "MessageBody"
      case messageType = "MessageType"
      case timeToLive = "TimeToLive"
      case context = "Context"
    }
  }

  static let aws = ProviderUnderTest(
    name: "aws",
    lane: { port, http in
      AWSLane(
        context: LaneContext("lane", try table("aws"), http),
        configuration: AWSConfiguration(baseURL: "http://127.0.0.1:\(port)", from: "+15005550006"),
        signer: AWSSigner(accessKeyID: "AKIDEXAMPLE0000001", secretKey: Secret("sesame"), region: "eu-central-1"))
    },
    problem: { request in
      let scope = "Credential=AKIDEXAMPLE0000001/20260701/eu-central-1/sms-voice/aws4_request"
      guard request.headers["Authorization"]?.contains(scope) == true else { return "credentials" }
      guard request.headers["X-Amz-Target"] == "PinpointSMSVoiceV2.SendTextMessage",
        request.headers["Content-Type"] == "application/x-amz-json-1.0",
        request.headers["X-Amz-Date"] == "20260701T120000Z", let message = object(request, AWSMessage.self)
      else { return "headers" }
      let expected = AWSMessage(
        destinationPhoneNumber: "+14155550123", originationIdentity: "+15005550006", messageBody: text,
        messageType: "TRANSACTIONAL", timeToLive: 300, context: ["jobID": "job-1"])
      return message == expected ? nil : "fields \(message)"
    },
    accepted: json(200, #"{"MessageId":"R1"}"#), reference: "R1",
    refused: exception(400, "ConflictException", reason: "DESTINATION_PHONE_NUMBER_OPTED_OUT"),
    throttled: exception(400, "ThrottlingException"), badCredentials: exception(400, "UnrecognizedClientException"),
    failed: exception(500, "InternalServerException"))

  private static func exception(_ status: Int, _ name: String, reason: String? = nil) -> HTTPServerResponse {
    let more = reason.map { #","Reason":"\#($0)""# } ?? ""
    return json(status, #"{"__type":"com.amazonaws.pinpoint#\#(name)","Message":"of +14155550123"\#(more)}"#)
  }
}
