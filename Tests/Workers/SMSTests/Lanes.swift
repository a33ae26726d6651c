import CountersignTelemetry
import JobEngine

@testable import SMS

// Lanes without a configuration file and a worker around them.

extension SMSLaneContext {
  init(
    _ name: String, table: ProviderTable, callbacks: ReportAddresses?, http: any HTTPCaller, clock: any WallClock
  ) {
    self.init(name: name, table: table, http: http, clock: clock)
    reportAddresses = callbacks
  }
}

extension TwilioLane {
  init(
    name: String, configuration: TwilioConfiguration, password: Secret, table: ProviderTable,
    callbacks: ReportAddresses? = nil, http: any HTTPCaller, clock: any WallClock
  ) {
    self.init(
      configuration, password: password,
      SMSLaneContext(name, table: table, callbacks: callbacks, http: http, clock: clock))
  }
}

extension VonageLane {
  init(
    name: String, configuration: VonageConfiguration, secret: Secret, table: ProviderTable,
    callbacks: ReportAddresses? = nil, http: any HTTPCaller, clock: any WallClock
  ) {
    self.init(
      configuration, secret: secret, asksForReports: callbacks != nil,
      SMSLaneContext(name, table: table, callbacks: callbacks, http: http, clock: clock))
  }
}

extension MessageBirdLane {
  init(
    name: String, configuration: MessageBirdConfiguration, accessKey: Secret, table: ProviderTable,
    callbacks: ReportAddresses? = nil, http: any HTTPCaller, clock: any WallClock
  ) {
    self.init(
      configuration, accessKey: accessKey, asksForReports: callbacks != nil,
      SMSLaneContext(name, table: table, callbacks: callbacks, http: http, clock: clock))
  }
}

extension AWSLane {
  init(
    name: String, configuration: AWSConfiguration, signer: AWSSigner, table: ProviderTable, http: any HTTPCaller,
    clock: any WallClock
  ) {
    self.init(
      configuration, signer: signer,
      SMSLaneContext(name, table: table, callbacks: nil, http: http, clock: clock))
  }
}

extension WebhookLane {
  init(
    name: String, url: String, from: String?, signer: WebhookSigner, deduplicates: Bool, table: ProviderTable,
    http: any HTTPCaller, clock: any WallClock
  ) {
    self.init(
      url: url, from: from, signer: signer, deduplicates: deduplicates,
      SMSLaneContext(name, table: table, callbacks: nil, http: http, clock: clock))
  }
}
