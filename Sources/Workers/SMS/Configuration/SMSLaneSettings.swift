import JobEngine
import NumberRules
import ServiceRuntime

/// One entry of `lanes`: settings that all workers have in common, and those for SMS.
struct SMSLaneSettings: Sendable {
  let common: LaneSettings<any SMSProvider>
  /// Rules for the messages that take the lane.
  let rules: RouteRules
  /// Whether a job that pins the lane gets it although the rules do not let it through.
  let allowsPinned: Bool
  let nationalShiftTables: Bool
  /// Whether a long text may be spelled differently to stay in GSM 7 bit.
  let transliterate: Bool

  /// Settings for the engine: name, slots, rate, breaker.
  var lane: LaneConfiguration { common.lane }

  var provider: (any SMSProvider)? { common.provider }

  init(_ common: LaneSettings<any SMSProvider>, _ section: ConfigurationSection) {
    self.common = common
    rules = RouteRules(
      regions: Self.regions(section), prefixes: Self.prefixes(section), apps: Self.apps(section),
      weight: Self.weight(section))
    allowsPinned = section.bool(
      "allowPinned", default: false,
      "Whether a job that names this lane may use it even if regions, prefixes or apps exclude it.")
    transliterate = section.bool(
      "transliterate", default: false,
      "Whether characters may be replaced by the table where that saves segments.")
    nationalShiftTables = section.bool(
      "nationalShiftTables", default: false,
      "Whether the provider takes national language tables, to be used where that saves segments.")
    section.check(
      "nationalShiftTables", !nationalShiftTables || common.provider?.takesNationalShiftTables ?? true,
      "is not possible with this type (smpp: with payload): the provider chooses the encoding by itself")
  }

  func route(_ lane: any SMSLane, _ transliteration: Transliteration?) -> LaneRoute {
    let text = TextOptions(
      nationalShiftTables: nationalShiftTables, transliteration: transliterate ? transliteration : nil)
    return LaneRoute(lane, rules: rules, text: text, allowsPinned: allowsPinned)
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
