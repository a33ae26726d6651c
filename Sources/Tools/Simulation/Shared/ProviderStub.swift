import CountersignEncoding
import CountersignTelemetry
import HTTPServer

protocol ProviderStub: Sendable {
  var provider: Provider { get }

  /// Faults do not hit what is refused here.
  func call(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> ProviderCall

  func failure(_ status: Int) -> ProviderError

  func response(to error: ProviderError, _ request: HTTPServerRequest) -> HTTPServerResponse
}

extension ProviderStub {
  /// As OAuth 2.0 has it (RFC 6749, section 5.2), unless a provider has another form.
  func response(to error: ProviderError, _ request: HTTPServerRequest) -> HTTPServerResponse { error.oauth }
}

/// Not yet carried out.
struct ProviderCall {
  /// Name for faults: phone number, device token, reCAPTCHA token, service account, client ID or app ID. Faults leave a
  /// call without one alone.
  var recipient: String?
  let carryOut: (UnixTime) throws(ProviderError) -> HTTPServerResponse
}

struct ProviderError: Error, Sendable, Equatable {
  /// Empty if it has none.
  let code: String
  let text: String
  let status: Int
  /// Reason, or time of the error, in answers that have it.
  var detail: String?
  /// Parameter or member that is wrong, in answers that name it.
  let field: String?

  init(_ code: String, _ text: String = "", status: Int = 400, detail: String? = nil, field: String? = nil) {
    self.code = code
    self.text = text
    self.status = status
    self.detail = detail
    self.field = field
  }
}

extension ProviderError {
  var oauth: HTTPServerResponse {
    .json(status: status, "{\"error\":\(JSONString.quote(code)),\"error_description\":\(JSONString.quote(text))}")
  }

  /// A body that a client cannot read.
  var page: HTTPServerResponse {
    HTTPServerResponse(
      status: status, contentType: "text/html", text: "<html><body><h1>Status \(status)</h1></body></html>\n")
  }
}

/// By their names in faults and metrics.
enum Provider: String, Sendable, CaseIterable {
  case twilio
  case webhook
  case vonage
  case messageBird = "messagebird"
  case aws
  case smpp
  case apns
  case recaptcha
  case googleToken = "google-token"
  case appleToken = "apple-token"
  case appleRevoke = "apple-revoke"
  case applePage = "apple-page"
  case appleKeys = "apple-keys"
  case googleKeys = "google-keys"
  case googleUser = "google-user"
  case googlePage = "google-page"
  case facebookKeys = "facebook-keys"
  case facebookGraph = "facebook-graph"
  case facebookPage = "facebook-page"
  case openIDDiscovery = "oidc-discovery"
  case openIDKeys = "oidc-keys"
  case openIDPage = "oidc-page"
  case openIDToken = "oidc-token"
  case openIDUser = "oidc-user"

  static let messaging: [Provider] = [.twilio, .webhook, .vonage, .messageBird, .aws, .smpp]

  static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }

  /// Name of an error in the summary, which counts the refusals of providers of messages.
  func refusal(_ error: ProviderError) -> String? {
    guard !error.code.isEmpty else { return nil }
    return switch self {
    case .twilio, .webhook: error.code
    case .vonage, .messageBird, .smpp: "\(rawValue) \(error.code)"
    case .aws: "aws \(error.code)" + (error.detail.map { ".\($0)" } ?? "")
    default: nil
    }
  }
}
