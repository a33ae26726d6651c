import NumberRules
import ServiceRuntime

/// The figures in force of the limits. The defaults are for production; `Config/coordinator.json5` explains each.
public struct Limits: Sendable, Hashable {
  private var changed: [String: Int] = [:]
  /// SMS to one country within a day in UTC, by region code.
  var countryBudgets: [String: Int] = [:]
  /// So many times what an address may, its network may.
  var networkFactor = 10
  /// Wrong codes that are usual for 100 approved ones, and twice as many: people mistype about one in ten.
  var wrongCodesPercent = 20

  subscript(limit: Limit) -> Int {
    get { changed[limit.key] ?? limit.figure }
    set { changed[limit.key] = newValue == limit.figure ? nil : newValue }
  }

  func budget(of region: String) -> Int {
    countryBudgets[region] ?? self[.sendsPerCountryPerDay]
  }
}

extension Limits {
  private static let range = 0...1_000_000_000

  init(_ section: ConfigurationSection) {
    self.init()
    for limit in Limit.all {
      self[limit] = section.integer(limit.key, default: limit.figure, in: Self.range, limit.help)
    }
    networkFactor = section.integer(
      "networkFactor", default: networkFactor, in: 1...1_000_000,
      "How many times what an address may, its network may: the /24 of an IPv4 address, the /48 of an IPv6 one.")
    wrongCodesPercent = section.integer(
      "wrongCodesPercent", default: wrongCodesPercent, in: 0...100,
      "Wrong codes of an app, and in all, that are allowed for 100 approved ones within 24 hours.")
    countryBudgets = section.integerMap(
      "countryBudgets", in: Self.range, "Messages within a day in UTC by region code, where they differ.")
    section.checkRegions("countryBudgets", countryBudgets.keys.sorted())
  }
}
