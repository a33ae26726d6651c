public import JobEngine
public import ServiceRuntime

/// An SMS provider: a type of lane in the configuration. An instance holds the settings of one lane.
///
/// A provider is a folder next to this file, a line in ``SMSProviders/all`` and a table in `Config/providers/`.
/// `docs/adding-a-provider.md` walks through one.
public protocol SMSProvider: LaneProvider {
  /// Whether a message can state the national language tables that it is written with. The default is `false`.
  var takesNationalShiftTables: Bool { get }

  /// Whether delivery reports arrive on the lane's own connection and name a message by the provider's ID alone.
  /// The default is `false`.
  var reportsOnItsOwnConnection: Bool { get }

  /// Makes the lane.
  ///
  /// - Parameters:
  ///   - context: parts of the worker for a lane of any provider.
  ///   - reports: the ways of delivery reports into the worker.
  /// - Throws: when the settings have a problem that ``LaneProvider/init(_:)`` has reported.
  func makeLane(_ context: LaneContext, _ reports: ReportWays) throws(WorkerError) -> SMSProviderLane
}

extension SMSProvider {
  public var takesNationalShiftTables: Bool { false }

  public var reportsOnItsOwnConnection: Bool { false }
}

/// Registry of the providers that the worker ships with.
public enum SMSProviders {
  /// All of them, in the order in which messages to the operator list them.
  public static let all: [any SMSProvider.Type] = [
    TwilioProvider.self, WebhookProvider.self, SMPPProvider.self, VonageProvider.self, MessageBirdProvider.self,
    AWSProvider.self,
  ]
}

/// The ways of delivery reports into the worker. `nil` for those that it does not offer.
public struct ReportWays: Sendable {
  /// Addresses for delivery reports over HTTP.
  public var addresses: ReportAddresses?
  /// Receiver of delivery reports that arrive on the lane's own connection.
  public var sink: (any SessionReportSink)?

  public init(addresses: ReportAddresses? = nil, sink: (any SessionReportSink)? = nil) {
    self.addresses = addresses
    self.sink = sink
  }
}

/// A lane, with the parts of its provider that the worker runs or listens with.
public struct SMSProviderLane: Sendable {
  let lane: any SMSLane
  let reports: (any ProviderReportReader)?
  let service: (any Service)?

  public init(
    _ lane: any SMSLane, reports: (any ProviderReportReader)? = nil, service: (any Service)? = nil
  ) {
    self.lane = lane
    self.reports = reports
    self.service = service
  }
}

extension ConfigurationSection {
  /// Reads `from`: a number in E.164, a short code (3 to 8 digits) or an alphanumeric sender ID (1 to 11 characters, at
  /// least one of them a letter).
  public func from(_ help: String) -> String? {
    guard let from = optionalString("from", help) else { return nil }
    check(
      "from", Self.isSender(from),
      "must be a number in E.164, a short code of 3 to 8 digits, or 1 to 11 letters, digits and spaces")
    return from
  }

  /// Reads `from` where it is required.
  public func requiredFrom() -> String {
    if let from = from("The sender: a number, a short code or an alphanumeric sender ID.") { return from }
    problem("from", "is required: the sender of the messages")
    return ""
  }

  private static func isSender(_ text: String) -> Bool {
    if text.hasPrefix("+") { return String(text.dropFirst()).isMatched(by: \.isDigit, length: 7...15) }
    if text.isMatched(by: \.isDigit, length: 3...8) { return true }
    return text.isMatched(by: { $0.isLetterOrDigit || " -_&+.".unicodeScalars.contains($0) }, length: 1...11)
      && text.unicodeScalars.contains { $0.isLetterOrDigit && !$0.isDigit }
  }
}
