public import CountersignCryptography
public import CountersignTelemetry
import HTTPClient
public import JobEngine
public import ServiceRuntime

/// Everything that an `sms-worker` brings to the engine, made from its configuration.
public struct SMSDispatcher: Sendable {
  /// What carries out the jobs.
  public let handler: SMSJobHandler
  /// The lanes in the order in which they are tried: what codes have of them.
  public let lanes: [LaneConfiguration]
  /// The same lanes: what messages that can wait have of them; empty when the worker takes none.
  public let bulkLanes: [LaneConfiguration]
  /// What keeps the lanes' own connections up. To be started before the worker, so that they are stopped after it.
  public let services: [SMPPService]
  private let transports: [HTTPClient]
  private let taking: ReceiptSettings.Taking?
  private let receipts: [String: any ReceiptSource]

  /// - Parameters:
  ///   - configuration: The configuration, checked.
  ///   - keys: Opens sealed codes; without it a sealed code is a dead letter.
  ///   - sink: Where receipts go that come on a provider's own connection; without it they are not asked for.
  ///   - log: Is told what happens to the lanes' own connections.
  ///   - clock: For dates in `Retry-After`, and for receipts.
  /// - Throws: when certificates cannot be used; the message names the lane.
  public init(
    _ configuration: SMSWorkerConfiguration, keys: KeyRing?, sink: (any ReceiptSink)? = nil, log: Logger? = nil,
    clock: any WallClock = SystemClock()
  ) throws(SMSDispatchError) {
    guard let templates = configuration.templates.templates else {
      throw SMSDispatchError(.invalidConfiguration, "templates.directory: the templates have problems")
    }
    taking = configuration.receipts.taking
    let factory = LaneFactory(
      tables: configuration.tables, callbacks: taking?.addresses, transliteration: configuration.transliteration,
      clock: clock,
      sink: sink, log: log)
    var routes: [LaneRoute] = []
    var transports: [HTTPClient] = []
    var receipts: [String: any ReceiptSource] = [:]
    var services: [SMPPService] = []
    for settings in configuration.lanes {
      let lane = try factory.make(settings)
      routes.append(lane.route)
      transports.append(lane.http)
      receipts[settings.lane.name] = lane.receipts
      if let service = lane.service { services.append(service) }
    }
    self.services = services
    let ring = if let keys { keys } else { try Self.noKeys() }
    let whole = configuration.lanes.map(\.lane)
    lanes = configuration.bulk.map { bulk in whole.map { $0.split(bulk.share).rest } } ?? whole
    bulkLanes = configuration.bulk.map { bulk in whole.map { $0.split(bulk.share).share } } ?? []
    self.transports = transports
    self.receipts = receipts
    handler = SMSJobHandler(
      routes: routes, recipients: configuration.recipients, templates: templates, keys: ring,
      limits: configuration.limits, appName: configuration.templates.appName)
  }

  private static func noKeys() throws(SMSDispatchError) -> KeyRing {
    do {
      return try KeyRing(sealing: nil)
    } catch {
      throw SMSDispatchError(.invalidConfiguration, "no key ring can be made: \(error)")
    }
  }

  /// Service that takes the providers' reports, if the configuration asks for them. It listens as soon as it is made.
  ///
  /// - Parameters:
  ///   - broker: Where the reports go.
  ///   - context: What the services of the process share.
  /// - Throws: when the port cannot be listened on.
  public func receiptService(
    _ broker: BrokerConfiguration, _ context: ServiceContext
  ) throws(StartError) -> ReceiptService? {
    guard let taking else { return nil }
    return try ReceiptService(taking, sources: receipts, broker, context)
  }

  /// Ends the connections to the providers; calls under way fail.
  public func shutdown() async {
    for transport in transports { await transport.shutdown() }
  }
}
