import ServiceRuntime
import Telemetry
public import WorkerRuntime

/// One entry of `lanes`: what all providers have in common, and what its provider needs.
public struct LaneSettings: Sendable {
  /// What the engine goes by: the name, the slots, the rate, the breaker.
  public let lane: LaneConfiguration
  /// The regions (ISO 3166-1 alpha-2) whose numbers go this way; all, when it is empty.
  public let regions: Set<String>
  /// Certificates that the provider's must come from; the system's, if nil.
  let caFile: String?
  let provider: ProviderSettings

  /// The longest name of a lane; it is a label of metrics.
  static let maxNameLength = 40

  /// Reads one entry. Problems are reported to the section.
  init(_ section: ConfigurationSection) {
    let name = section.string("name", "The lane's name in jobs, results, logs and metrics.")
    section.check(
      "name", name.isEmpty || Self.isName(name), "must be 1 to \(Self.maxNameLength) letters, digits or hyphens")
    lane = LaneConfiguration(
      name: name,
      concurrency: section.integer("concurrency", default: 64, in: 1...10_000, "Calls under way at once."),
      rate: Self.rate(section),
      callTimeout: section.seconds(
        "timeoutSeconds", default: .seconds(10), in: .milliseconds(100) ... .seconds(120),
        "How long one call may take in all."),
      breakerThreshold: section.integer(
        "breakerThreshold", default: 20, in: 0...10_000, "Failed calls in a row after which the lane is down; 0: never."
      ))
    regions = Self.regions(section)
    caFile = section.path("caFile", "Certificates (PEM) that the provider's must come from; the system's if absent.")
    provider = ProviderSettings(section)
  }

  private static func rate(_ section: ConfigurationSection) -> LaneRate? {
    let perSecond = section.number(
      "ratePerSecond", default: 0, in: 0...1_000_000, "Calls a second in the mean; 0: as many as concurrency allows.")
    let burst = section.integer(
      "burst", default: 1, in: 1...10_000, "Calls at once after a pause, within ratePerSecond.")
    return perSecond > 0 ? LaneRate(perSecond: perSecond, burst: burst) : nil
  }

  private static func regions(_ section: ConfigurationSection) -> Set<String> {
    let regions = section.strings(
      "regions", default: [], "Regions (ISO 3166-1, such as DE) whose numbers go this way; all if empty.")
    section.check("regions", regions.allSatisfy(isRegion), "must be codes of ISO 3166-1 in capitals, such as \"DE\"")
    return Set(regions)
  }

  private static func isName(_ text: String) -> Bool {
    text.isMatched(by: { $0.isLetterOrDigit || $0 == "-" }, length: 1...maxNameLength)
  }

  private static func isRegion(_ text: String) -> Bool {
    text.isMatched(by: { ("A"..."Z").contains($0) }, length: 2...2)
  }
}
