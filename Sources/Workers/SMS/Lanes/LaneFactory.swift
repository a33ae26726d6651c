import CountersignTelemetry
import HTTPClient
import JobEngine
import SMPP

/// Makes lanes from their configuration.
struct LaneFactory {
  let tables: ProviderTables
  let callbacks: CallbackAddresses?
  let transliteration: Transliteration?
  let clock: any WallClock
  /// Where receipts go that come on a provider's own connection; nil when nobody wants them.
  let sink: (any ReceiptSink)?
  let log: Logger?

  /// A lane with what belongs to it.
  struct Lane {
    let route: LaneRoute
    let http: HTTPClient
    /// Reads its provider's reports; nil for one that makes none.
    let receipts: (any ReceiptSource)?
    /// Keeps the lane's session up; nil for one that has none.
    let service: SMPPService?
  }

  /// - Throws: when a file of certificates cannot be used.
  func make(_ settings: LaneSettings) throws(SMSDispatchError) -> Lane {
    let http = try transport(settings)
    let lane: any SMSLane
    var receipts: (any ReceiptSource)?
    var service: SMPPService?
    switch settings.provider {
    case .twilio(let twilio):
      lane = TwilioLane(
        name: settings.lane.name, configuration: twilio.configuration, password: twilio.password,
        table: tables.twilio, callbacks: callbacks, http: http, clock: clock)
      receipts = TwilioReceipts(signature: TwilioSignature(authToken: twilio.authToken), table: tables.twilio)
    case .webhook(let webhook):
      guard let signer = webhook.signer else { throw Self.incomplete(settings) }
      lane = WebhookLane(
        name: settings.lane.name, url: webhook.url, from: webhook.from, signer: signer,
        deduplicates: webhook.receiverDeduplicates, table: tables.webhook, http: http, clock: clock)
    case .smpp(let smpp):
      let session = session(smpp, settings)
      lane = SMPPLane(
        name: settings.lane.name, configuration: smpp.lane(hasSink: sink != nil), table: tables.smpp,
        session: session)
      service = SMPPService(lane: settings.lane.name, session: session)
    case .vonage(let vonage):
      lane = VonageLane(
        name: settings.lane.name, configuration: vonage.configuration, secret: vonage.secret, table: tables.vonage,
        callbacks: vonage.signature == nil ? nil : callbacks, http: http, clock: clock)
      receipts = vonage.signature.map { VonageReceipts(signature: $0, table: tables.vonage) }
    case .messageBird(let messageBird):
      lane = MessageBirdLane(
        name: settings.lane.name, configuration: messageBird.configuration, accessKey: messageBird.accessKey,
        table: tables.messageBird, callbacks: messageBird.signature == nil ? nil : callbacks, http: http, clock: clock)
      receipts = messageBird.signature.map { MessageBirdReceipts(signature: $0, table: tables.messageBird) }
    case .aws(let aws):
      lane = AWSLane(
        name: settings.lane.name, configuration: aws.configuration, signer: aws.signer, table: tables.aws, http: http,
        clock: clock)
    case .unknown: throw Self.incomplete(settings)
    }
    let text = TextOptions(
      nationalShiftTables: settings.nationalShiftTables,
      transliteration: settings.transliterate ? transliteration : nil)
    return Lane(
      route: LaneRoute(lane, rules: settings.route, text: text, allowsPinned: settings.allowsPinned), http: http,
      receipts: receipts, service: service)
  }

  private func session(_ smpp: SMPPSettings, _ settings: LaneSettings) -> SMPPSession {
    let name = settings.lane.name
    let events = log.map { SMPPEventLog(log: $0, lane: name) }
    return SMPPSession(
      smpp.session(caFile: settings.caFile),
      onReceipt: { [sink, clock] receipt in
        // One that nobody asked for need not come again.
        await sink?.take(DeliveryReceipt(receipt, lane: name, at: clock.now())) ?? true
      },
      onEvent: { events?.write($0) })
  }

  /// One for each lane, so that one provider's trouble does not take another's connections.
  private func transport(_ settings: LaneSettings) throws(SMSDispatchError) -> HTTPClient {
    do {
      return try HTTPClient(
        HTTPClient.Configuration(
          maxConcurrent: settings.lane.concurrency, maxWaiting: settings.lane.concurrency, caFile: settings.caFile,
          userAgent: "countersign-sms-worker"))
    } catch {
      throw SMSDispatchError(.invalidConfiguration, "lane \(settings.lane.name): \(error)")
    }
  }

  private static func incomplete(_ settings: LaneSettings) -> SMSDispatchError {
    SMSDispatchError(.invalidConfiguration, "lane \(settings.lane.name): the configuration has problems")
  }
}
