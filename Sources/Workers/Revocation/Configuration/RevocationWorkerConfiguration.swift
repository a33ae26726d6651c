import CountersignCryptography
import HTTPClient
public import JobEngine
public import ServiceRuntime

/// Configuration of a `revocation-worker`. `Config/revocation-worker.json5` explains every key.
public struct RevocationWorkerConfiguration: ProcessConfiguration {
  /// Broker, logs, HTTP, keys, stop.
  public let common: CommonConfiguration
  /// Prefetch, ledger, repetitions.
  public let worker: WorkerSettings
  /// Time for which the token of an exchanged code is revoked, if the job's own deadline is earlier.
  public let persistence: Duration
  let lanes: [RevocationLaneSettings]
  let tables: ProviderTables

  /// Maximum number of lanes of one worker; each has connections and metrics of its own.
  static let maxLanes = 64

  public init(_ section: ConfigurationSection) {
    common = CommonConfiguration(section, defaultHTTPPort: 8083)
    worker = WorkerSettings(section, ledgerPath: "revocation-ledger.sqlite")
    persistence = .seconds(
      3600
        * section.integer(
          "persistenceHours", default: 24, in: 1...720,
          "How long the token of an exchanged code is still revoked after an earlier deadline of the job."))
    tables = ProviderTables(section, RevocationProviders.all.map { $0.table })
    lanes = Self.lanes(section)
    worker.checkPrefetch(for: lanes.map(\.lane), section)
    if common.keys?.sealing == nil {
      section.problem(
        "keysFile",
        "is missing: the token that a code is exchanged for has to be sealed; make keys with: countersign keys generate"
      )
    }
    if worker.ledger.kind == .none {
      section.warning(
        "ledger.type",
        "is none: a worker that crashes between Apple's answer and the broker's confirmation loses the token")
    }
  }

  private static func lanes(_ section: ConfigurationSection) -> [RevocationLaneSettings] {
    let sections = section.sections("lanes", "The clients of Sign in with Apple: one lane each.")
    section.check(
      "lanes", !sections.isEmpty, "is empty: configure at least one lane, as Config/revocation-worker.json5 shows")
    section.check("lanes", sections.count <= maxLanes, "has more than \(maxLanes) entries")
    var names: Set<String> = []
    var clients: Set<RevocationClient> = []
    return sections.map { entry in
      let settings = RevocationLaneSettings(entry)
      if !names.insert(settings.lane.name).inserted, !settings.lane.name.isEmpty {
        entry.problem("name", "is the name of another lane too: give each its own")
      }
      for client in settings.provider?.clients ?? [] where !clients.insert(client).inserted {
        entry.problem("apps", "has an app that another lane serves for this client too")
      }
      return settings
    }
  }
}

/// One entry of `lanes`.
struct RevocationLaneSettings: Sendable {
  /// Settings the engine needs: name, slots, rate, breaker.
  let lane: LaneConfiguration
  /// File with the authorities that the provider's certificate must come from; the system's if `nil`.
  let caFile: String?
  /// `nil` for an unknown `type`, which was reported.
  let provider: (any RevocationProvider)?

  /// Reads one entry. Problems are reported to the section.
  init(_ section: ConfigurationSection) {
    lane = LaneConfiguration(section)
    caFile = section.path("caFile", "Certificates to trust (PEM); the system's if absent.")
    let all = RevocationProviders.all
    let names = all.map { $0.typeName }.joined(separator: ", ")
    let text = section.string("type", default: all.first?.typeName ?? "", "The provider: one of \(names).")
    provider = all.first { $0.typeName == text }?.init(section)
    if provider == nil { section.unknownType(valid: names) }
  }

  /// Makes an HTTP client of the lane's own, so that its connections are not those of another client.
  func client() throws(WorkerError) -> HTTPClient {
    do {
      return try HTTPClient(
        HTTPClient.Configuration(
          maxConcurrent: lane.concurrency, maxWaiting: lane.concurrency, caFile: caFile,
          userAgent: "countersign-revocation-worker"))
    } catch {
      throw WorkerError(.invalidConfiguration, "lane \(lane.name): \(error)")
    }
  }
}
