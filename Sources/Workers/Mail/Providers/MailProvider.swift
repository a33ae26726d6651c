import CountersignTelemetry
public import JobEngine
import ServiceRuntime

/// A provider of the mail-worker: one `type` of the entries of `lanes`. An instance holds the keys of one entry.
///
/// A provider is a folder next to this file, a line in ``MailProviders/all``, and its table in `Config/providers/`.
protocol MailProvider: Sendable {
  /// `type` of the provider's lanes in the configuration.
  static var typeName: String { get }

  /// The meaning of the provider's answers, which is data; for one that speaks HTTP, a `ProviderTable`.
  associatedtype Table: Sendable

  /// Name of the table's file in `providersDirectory`.
  static var tableFile: String { get }

  static func readTable(_ path: String) throws(WorkerError) -> Table

  /// Reads the provider's own keys of an entry. Problems are reported to the section, so reading cannot fail.
  init(_ section: ConfigurationSection, _ lane: LaneConfiguration)

  func makeLane(_ context: MailLaneContext, _ table: Table) throws(WorkerError) -> any MailLane

  /// Connects to the provider and authenticates, without sending a mail.
  func check(name: String, timeout: Duration) async -> String?
}

/// Registry of the providers that the worker ships with.
enum MailProviders {
  /// All of them; the first one is the default.
  static let all: [any MailProvider.Type] = [SMTPProvider.self]
}

/// Parts of the worker that a provider makes its lane from.
struct MailLaneContext: Sendable {
  let name: String
  let writer: MailWriter
  let clock: any WallClock
  let logger: Logger
  let metrics: MetricsRegistry
}

/// One way out for mail.
protocol MailLane: Sendable {
  var name: String { get }

  /// Submits a mail, once. The extra `suppress` of a refusal is true for a recipient that gets no further mail.
  func send(_ mail: OutgoingMail, _ attempt: JobAttempt) async -> Classification

  /// Asks whether the lane works again.
  func probe() async -> ProbeResult

  func shutdown() async
}

/// One entry of `lanes`.
public struct MailLaneSettings: Sendable {
  /// Settings the engine needs: name, slots, rate, breaker.
  public let lane: LaneConfiguration
  /// `nil` for an unknown `type`, which was reported.
  let provider: (any MailProvider)?

  /// Number of connections; each has a thread while it is used.
  static let connections = 1...256

  /// Reads one entry. Problems are reported to the section.
  init(_ section: ConfigurationSection, providers all: [any MailProvider.Type]) {
    lane = LaneConfiguration(
      section, concurrency: 16, in: Self.connections, timeout: .seconds(600), longestTimeout: .seconds(1200))
    let names = all.map { $0.typeName }.joined(separator: ", ")
    let text = section.string("type", default: all.first?.typeName ?? "", "The provider: one of \(names).")
    provider = all.first { $0.typeName == text }?.init(section, lane)
    if provider == nil { section.unknownType(valid: names) }
  }
}
