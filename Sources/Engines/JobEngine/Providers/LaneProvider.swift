public import CountersignTelemetry
public import HTTPClient
public import ServiceRuntime

/// A provider: one `type` of the lanes in a worker's configuration. An instance holds the provider's own keys of a lane.
public protocol LaneProvider: Sendable {
  /// `type` of the provider's lanes in the configuration.
  static var typeName: String { get }

  /// Tables of the provider's answers, the main one first. The default is one with codes and statuses, named like the
  /// type.
  static var tables: [ProviderTables.Source] { get }

  /// Reads the provider's own keys of a lane. Problems are reported to the section, so reading cannot fail.
  init(_ section: ConfigurationSection)
}

extension LaneProvider {
  public static var tables: [ProviderTables.Source] { [ProviderTables.Source(typeName)] }
}

/// One entry of `lanes`: the keys that all lanes of a worker share, and those of its provider.
public struct LaneSettings<Provider: Sendable>: Sendable {
  /// Settings for the engine: name, slots, rate, breaker.
  public let lane: LaneConfiguration
  /// File with the authorities that the provider's certificate must come from. The system's if `nil`.
  public let caFile: String?
  /// `nil` for an unknown `type`, which was reported.
  public let provider: Provider?
  private let table: ProviderTables.Source?

  private init(_ section: ConfigurationSection, _ lane: LaneConfiguration, _ providers: [any LaneProvider.Type]) {
    self.lane = lane
    caFile = section.path("caFile", "Certificates to trust (PEM); the system's if absent.")
    let names = providers.map { $0.typeName }.joined(separator: ", ")
    let help = "The provider: one of \(names)."
    let name =
      providers.count == 1 ? section.string("type", default: names, help) : section.string("type", help)
    let type = providers.first { $0.typeName == name }
    provider = type?.init(section) as? Provider
    table = type?.tables.first
    if provider == nil, providers.count == 1 || !name.isEmpty { section.unknownType(valid: names) }
  }

  /// Reads the key `lanes`, which has at least one entry. Problems are reported to the section.
  ///
  /// - Parameters:
  ///   - section: top of the configuration.
  ///   - help: meaning of the list.
  ///   - most: maximum number of lanes; each has connections and metrics of its own.
  ///   - file: file that shows how a lane is configured.
  ///   - providers: registry of the providers; the type of a lane has a default where there is one only.
  ///   - lane: reads the keys of the engine.
  /// - Returns: the lanes with their sections, for further keys and checks.
  public static func read(
    _ section: ConfigurationSection, _ help: String, most: Int, shownIn file: String,
    providers: [any LaneProvider.Type],
    lane: (ConfigurationSection) -> LaneConfiguration = { LaneConfiguration($0) }
  ) -> [(settings: Self, section: ConfigurationSection)] {
    let sections = section.sections("lanes", help)
    section.check("lanes", !sections.isEmpty, "is empty: configure at least one lane, as \(file) shows")
    section.check("lanes", sections.count <= most, "has more than \(most) entries")
    var owners: [String: Int] = [:]
    return sections.enumerated().map { index, entry in
      let settings = Self(entry, lane(entry), providers)
      if let owner = owners.updateValue(index, forKey: settings.lane.name), !settings.lane.name.isEmpty {
        entry.problem("name", "is the name of lanes.\(owner) too: give each lane its own")
      }
      return (settings, entry)
    }
  }

  /// Makes an HTTP client for the lane alone.
  ///
  /// - Parameters:
  ///   - worker: name of the program, for the header `User-Agent`.
  ///   - concurrency: maximum number of requests at once; that of the lane if `nil`.
  /// - Throws: a certificate file that cannot be read.
  public func client(of worker: String, concurrency: Int? = nil) throws(WorkerError) -> HTTPClient {
    let concurrency = concurrency ?? lane.concurrency
    do {
      return try HTTPClient(
        HTTPClient.Configuration(
          maxConcurrent: concurrency, maxWaiting: concurrency, caFile: caFile, userAgent: "countersign-\(worker)"))
    } catch {
      throw WorkerError(.invalidConfiguration, "lane \(lane.name): \(error)")
    }
  }

  /// The provider, and the parts of the worker for its lane, with an HTTP client for the lane alone.
  ///
  /// - Parameters:
  ///   - worker: name of the program.
  ///   - tables: tables of the worker's providers.
  ///   - clock: clock of the process.
  ///   - logger: log for events of the lane's own connection.
  /// - Throws: a certificate file that cannot be read, or an unknown `type`.
  public func parts(
    of worker: String, _ tables: ProviderTables, _ clock: any WallClock, logger: Logger? = nil
  ) throws(WorkerError) -> (provider: Provider, context: LaneContext) {
    guard let provider, let table else {
      throw WorkerError(.invalidConfiguration, "lane \(lane.name): the configuration has problems")
    }
    var context = LaneContext(name: lane.name, table: tables[table], http: try client(of: worker), clock: clock)
    context.caFile = caFile
    context.logger = logger
    return (provider, context)
  }
}
