/// The providers that are simulated, as faults and metrics call them.
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

  /// Those that take messages for phone numbers.
  static let messaging: [Provider] = [.twilio, .webhook, .vonage, .messageBird, .aws, .smpp]

  static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
