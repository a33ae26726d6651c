import ServiceRuntime
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

  /// Reads one entry. Problems are reported to the section.
  init(_ section: ConfigurationSection) {
    lane = LaneConfiguration(section)
    regions = Self.regions(section)
    caFile = section.path("caFile", "Certificates (PEM) that the provider's must come from; the system's if absent.")
    provider = ProviderSettings(section)
  }

  private static func regions(_ section: ConfigurationSection) -> Set<String> {
    let regions = section.strings(
      "regions", default: [], "Regions (ISO 3166-1, such as DE) whose numbers go this way; all if empty.")
    section.check("regions", regions.allSatisfy(isRegion), "must be codes of ISO 3166-1 in capitals, such as \"DE\"")
    return Set(regions)
  }

  private static func isRegion(_ text: String) -> Bool {
    text.isMatched(by: { ("A"..."Z").contains($0) }, length: 2...2)
  }
}
