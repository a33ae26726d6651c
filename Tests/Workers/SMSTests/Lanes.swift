import CountersignTelemetry
import JobEngine

@testable import SMS

extension TwilioLane {
  init(
    name: String, configuration: TwilioConfiguration, password: Secret, table: ProviderTable,
    callbacks: ReportAddresses? = nil, http: any HTTPCaller, clock: any WallClock
  ) {
    self.init(
      configuration, password: password, LaneContext(name: name, table: table, http: http, clock: clock), callbacks)
  }
}

extension VonageLane {
  init(
    name: String, configuration: VonageConfiguration, secret: Secret, table: ProviderTable,
    callbacks: ReportAddresses? = nil, http: any HTTPCaller, clock: any WallClock
  ) {
    self.init(
      context: LaneContext(name: name, table: table, http: http, clock: clock), configuration: configuration,
      secret: secret, addresses: callbacks)
  }
}

extension MessageBirdLane {
  init(
    name: String, configuration: MessageBirdConfiguration, accessKey: Secret, table: ProviderTable,
    callbacks: ReportAddresses? = nil, http: any HTTPCaller, clock: any WallClock
  ) {
    self.init(
      context: LaneContext(name: name, table: table, http: http, clock: clock), configuration: configuration,
      accessKey: accessKey, addresses: callbacks)
  }
}

extension AWSLane {
  init(
    name: String, configuration: AWSConfiguration, signer: AWSSigner, table: ProviderTable, http: any HTTPCaller,
    clock: any WallClock
  ) {
    self.init(
      context: LaneContext(name: name, table: table, http: http, clock: clock), configuration: configuration,
      signer: signer)
  }
}

extension WebhookLane {
  init(
    name: String, url: String, from: String?, signer: WebhookSigner, deduplicates: Bool, table: ProviderTable,
    http: any HTTPCaller, clock: any WallClock
  ) {
    self.init(
      context: LaneContext(name: name, table: table, http: http, clock: clock), deduplicates: deduplicates, url: url,
      from: from, signer: signer)
  }
}
