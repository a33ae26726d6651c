public import JobEngine
import NumberRules
import ServiceRuntime

/// One entry of `lanes`: what all providers have in common, and what its provider needs.
public struct LaneSettings: Sendable {
  /// What the engine goes by: the name, the slots, the rate, the breaker.
  public let lane: LaneConfiguration
  /// Which messages go this way.
  public let route: RouteRules
  /// Whether a job that pins the lane gets it whatever the rules above say.
  let allowsPinned: Bool
  /// Certificates that the provider's must come from; the system's, if nil.
  let caFile: String?
  let provider: ProviderSettings
  /// Whether a long text may be written with national language tables.
  let nationalShiftTables: Bool
  /// Whether a long text may be spelled otherwise, to stay in GSM 7 bit.
  let transliterate: Bool

  /// Reads one entry. Problems are reported to the section.
  init(_ section: ConfigurationSection) {
    lane = LaneConfiguration(section)
    route = RouteRules(
      regions: Self.regions(section), prefixes: Self.prefixes(section), apps: Self.apps(section),
      weight: Self.weight(section))
    allowsPinned = section.bool(
      "allowPinned", default: false,
      "Whether a job that names this lane gets it although regions, prefixes or apps say no.")
    caFile = section.path("caFile", "Certificates (PEM) that the provider's must come from; the system's if absent.")
    provider = ProviderSettings(section)
    transliterate = section.bool(
      "transliterate", default: false,
      "Whether characters may be replaced, by the table, where that spares segments.")
    nationalShiftTables = section.bool(
      "nationalShiftTables", default: false,
      "Whether the provider takes national language tables, to be used where that spares segments.")
    section.check(
      "nationalShiftTables", !nationalShiftTables || provider.takesNationalShiftTables,
      "is not possible with this type (smpp: with payload): the provider chooses the encoding by itself")
  }

  private static func regions(_ section: ConfigurationSection) -> Set<String> {
    let regions = section.strings(
      "regions", default: [], "Regions (ISO 3166-1, such as DE) whose numbers go this way; all if empty.")
    section.checkRegions("regions", regions)
    return Set(regions)
  }

  private static func prefixes(_ section: ConfigurationSection) -> [String] {
    let prefixes = section.strings(
      "prefixes", default: [], "Beginnings of the numbers that go this way, such as +49151; all if empty.")
    section.check(
      "prefixes",
      prefixes.allSatisfy { $0.hasPrefix("+") && String($0.dropFirst()).isMatched(by: \.isDigit, length: 1...15) },
      "must be + and 1 to 15 digits each")
    return prefixes
  }

  private static func apps(_ section: ConfigurationSection) -> Set<String> {
    Set(section.strings("apps", default: [], "The apps whose messages go this way; all if empty."))
  }

  private static func weight(_ section: ConfigurationSection) -> Double? {
    let weight = section.number(
      "weight", default: 0, in: 0...1_000_000,
      "The share among the lanes with a weight that stand beside each other; 0: the lane keeps its place.")
    return weight > 0 ? weight : nil
  }
}
