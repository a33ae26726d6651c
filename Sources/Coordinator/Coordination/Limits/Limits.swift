import NumberRules
import ServiceRuntime

/// The figures in force of the limits. The defaults are for production; `Config/coordinator.json5` explains each.
public struct Limits: Sendable, Hashable {
  /// Figures that differ from the table's, by key.
  private var changed: [String: Int] = [:]
  /// SMS to one country within a day in UTC, by region code.
  var countryBudgets: [String: Int] = [:]

  /// The figure of a limit.
  subscript(limit: Limit) -> Int {
    get { changed[limit.key] ?? limit.figure }
    set { changed[limit.key] = newValue == limit.figure ? nil : newValue }
  }

  /// The budget of a region for a day.
  func budget(of region: String) -> Int {
    countryBudgets[region] ?? self[.sendsPerCountryPerDay]
  }
}

extension Limits {
  /// Limits that can be configured.
  private static let range = 0...1_000_000_000

  /// - Parameter section: the section `limits`.
  init(_ section: ConfigurationSection) {
    self.init()
    for limit in Limit.all {
      self[limit] = section.integer(limit.key, default: limit.figure, in: Self.range, limit.help)
    }
    countryBudgets = section.integerMap(
      "countryBudgets", in: Self.range, "Messages within a day in UTC by region code, where they differ.")
    section.checkRegions("countryBudgets", countryBudgets.keys.sorted())
  }
}
