public import JobEngine
import NumberRules
import ServiceRuntime

/// One entry of `lanes`: settings that all providers have in common, and those of its provider.
public struct SMSLaneSettings: Sendable {
  /// Settings for the engine: name, slots, rate, breaker.
  public let lane: LaneConfiguration
  /// Rules for the messages that take the lane.
  public let rules: RouteRules
  /// Whether a job that pins the lane gets it although the rules do not let it through.
  let allowsPinned: Bool
  /// File with the authorities that the provider's certificate must come from; the system's if `nil`.
  let caFile: String?
  /// Settings of the provider; `nil` if `type` is unknown, which is reported.
  let provider: (any SMSProvider)?
  /// Whether a long text may be written with national language tables.
  let nationalShiftTables: Bool
  /// Whether a long text may be spelled differently to stay in GSM 7 bit.
  let transliterate: Bool

  /// Reads one entry. Problems are reported to the section.
  init(_ section: ConfigurationSection, providers: [any SMSProvider.Type]) {
    lane = LaneConfiguration(section)
    rules = RouteRules(
      regions: Self.regions(section), prefixes: Self.prefixes(section), apps: Self.apps(section),
      weight: Self.weight(section))
    allowsPinned = section.bool(
      "allowPinned", default: false,
      "Whether a job that names this lane may use it even if regions, prefixes or apps exclude it.")
    caFile = section.path("caFile", "Certificates to trust (PEM); the system's if absent.")
    provider = Self.provider(section, providers)
    transliterate = section.bool(
      "transliterate", default: false,
      "Whether characters may be replaced by the table where that saves segments.")
    nationalShiftTables = section.bool(
      "nationalShiftTables", default: false,
      "Whether the provider takes national language tables, to be used where that saves segments.")
    section.check(
      "nationalShiftTables", !nationalShiftTables || provider?.takesNationalShiftTables ?? true,
      "is not possible with this type (smpp: with payload): the provider chooses the encoding by itself")
  }

  func route(_ lane: any SMSLane, _ transliteration: Transliteration?) -> LaneRoute {
    let text = TextOptions(
      nationalShiftTables: nationalShiftTables, transliteration: transliterate ? transliteration : nil)
    return LaneRoute(lane, rules: rules, text: text, allowsPinned: allowsPinned)
  }

  private static func provider(
    _ section: ConfigurationSection, _ providers: [any SMSProvider.Type]
  ) -> (any SMSProvider)? {
    let names = providers.map { $0.typeName }.joined(separator: ", ")
    let name = section.string("type", "The provider: one of \(names).")
    guard let provider = providers.first(where: { $0.typeName == name }) else {
      if !name.isEmpty { section.unknownType(valid: names) }
      return nil
    }
    return provider.init(section)
  }

  private static func regions(_ section: ConfigurationSection) -> Set<String> {
    let regions = section.strings(
      "regions", default: [], "Regions (ISO 3166-1, such as DE) whose numbers use this lane; all if empty.")
    section.checkRegions("regions", regions)
    return Set(regions)
  }

  private static func prefixes(_ section: ConfigurationSection) -> [String] {
    let prefixes = section.strings(
      "prefixes", default: [], "Prefixes of the numbers that use this lane, such as +49151; all if empty.")
    section.check(
      "prefixes",
      prefixes.allSatisfy { $0.hasPrefix("+") && String($0.dropFirst()).isMatched(by: \.isDigit, length: 1...15) },
      "must be + and 1 to 15 digits each")
    return prefixes
  }

  private static func apps(_ section: ConfigurationSection) -> Set<String> {
    Set(section.strings("apps", default: [], "The apps whose messages use this lane; all if empty."))
  }

  private static func weight(_ section: ConfigurationSection) -> Double? {
    let weight = section.number(
      "weight", default: 0, in: 0...1_000_000,
      "The share among adjacent lanes with a weight; 0: the lane keeps its place.")
    return weight > 0 ? weight : nil
  }
}
