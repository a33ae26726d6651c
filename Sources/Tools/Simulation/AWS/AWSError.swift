import CountersignEncoding
import HTTPServer

/// Exception of AWS End User Messaging, in its JSON protocol.
///
/// https://docs.aws.amazon.com/pinpoint/latest/apireference_smsvoicev2/API_SendTextMessage.html and, for those of
/// signatures, https://docs.aws.amazon.com/pinpoint/latest/apireference_smsvoicev2/CommonErrors.html
struct AWSError: Error, Sendable {
  let status: Int
  let name: String
  let message: String
  var reason: String?
  /// Members that a `ValidationException` is about.
  var fields: [String] = []

  init(_ name: String, _ message: String, status: Int = 400, reason: String? = nil) {
    self.status = status
    self.name = name
    self.message = message
    self.reason = reason
  }

  static func invalid(_ field: String, _ message: String, reason: String = "FIELD_VALIDATION_FAILED") -> AWSError {
    var error = AWSError("ValidationException", message, reason: reason)
    error.fields = [field]
    return error
  }

  static func conflict(_ reason: String) -> AWSError {
    AWSError("ConflictException", "The request conflicts with the state of a resource.", reason: reason)
  }

  static func badSignature(_ message: String) -> AWSError { AWSError("InvalidSignatureException", message) }

  static func status(_ status: Int) -> AWSError {
    switch status {
    case 429: AWSError("ThrottlingException", "Rate exceeded", status: status)
    case 500...: AWSError("InternalServerException", "An internal error occurred.", status: status)
    case 401, 403: AWSError("AccessDeniedException", "Access is denied.", status: status)
    default: AWSError("ValidationException", "The request was refused.", status: status, reason: "OTHER")
    }
  }

  var response: HTTPServerResponse {
    var members = [
      "\"__type\":\"com.amazonaws.pinpointsmsvoicev2#\(name)\"", "\"Message\":\(JSONString.quote(message))",
    ]
    if let reason { members.append("\"Reason\":\"\(reason)\"") }
    if !fields.isEmpty {
      let list = fields.map { "{\"Name\":\"\($0)\",\"Message\":\(JSONString.quote(message))}" }
      members.append("\"Fields\":[\(list.joined(separator: ","))]")
    }
    return HTTPServerResponse(
      status: status, contentType: "application/x-amz-json-1.0", text: "{\(members.joined(separator: ","))}")
  }
}
