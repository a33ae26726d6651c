import ServiceRuntime

/// The part of a lane's configuration that belongs to its provider, by `type`.
enum ProviderSettings: Sendable {
  /// Twilio's Messages API.
  case twilio(TwilioSettings)
  /// Standard Webhooks to a receiver of one's own.
  case webhook(WebhookSettings)
  /// `type` is none of these; reported.
  case unknown

  /// Whether a message can say with which national language tables it is written.
  var takesNationalShiftTables: Bool {
    switch self {
    case .webhook, .unknown: true
    case .twilio: false
    }
  }

  private enum Kind: String, CaseIterable { case twilio, webhook }

  init(_ section: ConfigurationSection) {
    let kinds = Kind.allCases.map(\.rawValue)
    let text = section.string("type", "The provider: \(kinds.joined(separator: " or ")).")
    switch Kind(rawValue: text) {
    case .twilio: self = .twilio(TwilioSettings(section))
    case .webhook: self = .webhook(WebhookSettings(section))
    case nil:
      if !text.isEmpty { section.problem("type", "must be one of \(kinds.joined(separator: ", "))") }
      self = .unknown
    }
  }
}
