import CountersignEncoding
import HTTPServer

/// JSON of a message, and the checks that MessageBird makes of it
/// (https://developers.messagebird.com/api/sms-messaging).
struct MessageBirdOrder: Decodable, Sendable {
  /// Seconds.
  static let validities = 1...172_800
  static let maxReferenceLength = 128
  /// Nine segments: 153 septets each, or 67 characters of Unicode.
  static let maxSegments = 9

  let originator: String?
  let recipients: [String]?
  let body: String?
  let datacoding: String?
  let validity: Int?
  let reference: String?
  let reportUrl: String?

  /// `nil` for a body that is not a JSON object of such members.
  init?(_ bytes: [UInt8]) {
    // The answer is the same for all reasons.
    guard let order = try? JSONReader.requests.decode(Self.self, from: bytes) else { return nil }
    self = order
  }

  /// Recipient in E.164.
  var recipient: String { "+" + (recipients?.first ?? "") }

  /// Throws the first problem, in MessageBird's terms.
  func check(_ callbacks: CallbackURL) throws(MessageBirdError) {
    guard let originator, !originator.isEmpty else { throw .missing("originator") }
    guard let body, !body.isEmpty else { throw .missing("body") }
    guard let recipients, !recipients.isEmpty else { throw .missing("recipients") }
    // The API answers a wrong number with code 9 and `recipient` (github.com/messagebird/ruby-rest-api issue 24).
    guard recipients.count == 1, Recipients.isE164(recipient) else { throw .missing("recipient") }
    guard Recipients.isSender(originator, maxDigits: 17) else { throw .invalid("originator") }
    guard ["plain", "unicode", "auto"].contains(datacoding ?? "plain") else { throw .invalid("datacoding") }
    guard SegmentCount.of(arrivingBody) <= Self.maxSegments else { throw .invalid("body") }
    guard Self.validities.contains(validity ?? 1) else { throw .invalid("validity") }
    guard (reference ?? "").count <= Self.maxReferenceLength else { throw .invalid("reference") }
    // A report names the message by its reference.
    guard reportUrl == nil || reference != nil else { throw .missing("reference") }
    if let reportUrl, !callbacks.isTaken(reportUrl) { throw .invalid("reportUrl") }
    if Recipients.refusal(recipient) != nil { throw .missing("recipient") }
  }

  /// The text as it arrives: `plain` is converted to the GSM alphabet.
  var arrivingBody: String {
    (datacoding ?? "plain") == "plain" ? GSMText.arriving(body ?? "") : body ?? ""
  }
}

/// Error of MessageBird's API: a status and `{"errors": [{code, description, parameter}]}`.
struct MessageBirdError: Error, Sendable {
  let status: Int
  let code: Int
  let description: String
  let parameter: String?

  static func missing(_ parameter: String) -> MessageBirdError {
    MessageBirdError(status: 422, code: 9, description: "no (correct) \(parameter) found", parameter: parameter)
  }

  static func invalid(_ parameter: String) -> MessageBirdError {
    MessageBirdError(status: 422, code: 10, description: "\(parameter) is invalid", parameter: parameter)
  }

  static func status(_ status: Int) -> MessageBirdError {
    switch status {
    case 401:
      MessageBirdError(
        status: 401, code: 2, description: "Request not allowed (incorrect access_key)", parameter: "access_key")
    case 404, 405: MessageBirdError(status: status, code: 20, description: "not found", parameter: nil)
    case 500...: MessageBirdError(status: status, code: 99, description: "internal error", parameter: nil)
    default: MessageBirdError(status: status, code: 21, description: "bad request", parameter: nil)
    }
  }

  var response: HTTPServerResponse {
    .json(
      status: status,
      """
      {"errors":[{"code":\(code),"description":\(JSONString.quote(description)),"parameter":\(JSONString.quote(parameter))}]}
      """)
  }
}
