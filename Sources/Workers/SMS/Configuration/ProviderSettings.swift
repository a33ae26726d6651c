import ServiceRuntime

/// The part of a lane's configuration that belongs to its provider, by `type`.
enum ProviderSettings: Sendable {
  /// Twilio's Messages API.
  case twilio(TwilioSettings)
  /// Standard Webhooks to a receiver of one's own.
  case webhook(WebhookSettings)
  /// An SMPP server.
  case smpp(SMPPSettings)
  /// Vonage's SMS API.
  case vonage(VonageSettings)
  /// MessageBird's REST API.
  case messageBird(MessageBirdSettings)
  /// AWS End User Messaging.
  case aws(AWSSettings)
  /// `type` is none of these; reported.
  case unknown

  /// Whether a message can say with which national language tables it is written.
  var takesNationalShiftTables: Bool {
    switch self {
    case .webhook, .unknown: true
    // A payload has no header of its own; the server would have to know the tables.
    // Another alphabet than GSM's has no tables.
    case .smpp(let smpp):
      smpp.lane(hasSink: false).longMessages == .udh && smpp.lane(hasSink: false).alphabet == .gsm7
    case .twilio, .vonage, .messageBird, .aws: false
    }
  }

  /// Whether the provider reports on messages without being asked over HTTP.
  var reportsOnItsOwnConnection: Bool {
    switch self {
    case .smpp(let smpp): smpp.lane(hasSink: true).wantsReceipts
    case .twilio, .webhook, .vonage, .messageBird, .aws, .unknown: false
    }
  }

  private enum Kind: String, CaseIterable { case twilio, webhook, smpp, vonage, messagebird, aws }

  init(_ section: ConfigurationSection) {
    let kinds = Kind.allCases.map(\.rawValue)
    let text = section.string("type", "The provider: one of \(kinds.joined(separator: ", ")).")
    switch Kind(rawValue: text) {
    case .twilio: self = .twilio(TwilioSettings(section))
    case .webhook: self = .webhook(WebhookSettings(section))
    case .smpp: self = .smpp(SMPPSettings(section))
    case .vonage: self = .vonage(VonageSettings(section))
    case .messagebird: self = .messageBird(MessageBirdSettings(section))
    case .aws: self = .aws(AWSSettings(section))
    case nil:
      if !text.isEmpty { section.problem("type", "must be one of \(kinds.joined(separator: ", "))") }
      self = .unknown
    }
  }
}
