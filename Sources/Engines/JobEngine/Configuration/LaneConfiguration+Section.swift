public import ServiceRuntime

extension LaneConfiguration {
  /// The longest name of a lane. It is a label of metrics.
  static let maxNameLength = 40

  /// Reads the keys that all lanes share from a lane's section: `name`, `concurrency`, `ratePerSecond`, `burst`,
  /// `timeoutSeconds`, `breakerThreshold`. Problems are reported to the section.
  ///
  /// - Parameters:
  ///   - section: the lane's section.
  ///   - concurrency: default of `concurrency`, which must be `in` the range.
  ///   - timeout: default of `timeoutSeconds`, which `longestTimeout` bounds.
  public init(
    _ section: ConfigurationSection, concurrency: Int = 64, in range: ClosedRange<Int> = 1...10_000,
    timeout: Duration = .seconds(10), longestTimeout: Duration = .seconds(120)
  ) {
    let name = section.string("name", "The lane's name in jobs, results, logs and metrics.")
    section.check(
      "name", name.isEmpty || Self.isName(name), "must be 1 to \(Self.maxNameLength) letters, digits or hyphens")
    self.init(
      name: name,
      concurrency: section.integer(
        "concurrency", default: concurrency, in: range, "Maximum number of concurrent calls."),
      rate: Self.rate(section),
      callTimeout: section.seconds(
        "timeoutSeconds", default: timeout, in: .milliseconds(100)...longestTimeout,
        "Maximum duration of one call."),
      breakerThreshold: section.integer(
        "breakerThreshold", default: 20, in: 0...10_000, "Failed calls in a row after which the lane is down; 0: never."
      ))
  }

  private static func rate(_ section: ConfigurationSection) -> LaneRate? {
    let perSecond = section.number(
      "ratePerSecond", default: 0, in: 0...1_000_000, "Average calls per second; 0: as many as concurrency allows.")
    let burst = section.integer(
      "burst", default: 1, in: 1...10_000, "Maximum burst after a pause, with ratePerSecond.")
    return perSecond > 0 ? LaneRate(perSecond: perSecond, burst: burst) : nil
  }

  private static func isName(_ text: String) -> Bool {
    text.isMatched(by: { $0.isLetterOrDigit || $0 == "-" }, length: 1...maxNameLength)
  }
}
