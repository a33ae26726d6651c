/// What a lane is for. A rule that is empty lets everything through; all of them have to.
public struct RouteRules: Sendable, Hashable {
  /// The regions (ISO 3166-1 alpha-2) whose numbers it takes.
  public var regions: Set<String>
  /// Beginnings of the numbers that it takes, in E.164: `+49`, `+49151`.
  public var prefixes: [String]
  /// The apps whose messages it takes.
  public var apps: Set<String>
  /// Its share among the lanes with a weight that stand beside it; nil: it keeps its place.
  public var weight: Double?

  /// - Parameters:
  ///   - regions: ISO 3166-1 alpha-2; empty: all.
  ///   - prefixes: Beginnings of numbers in E.164; empty: all.
  ///   - apps: Names of apps as the jobs have them; empty: all, and jobs without one.
  ///   - weight: More than 0.
  public init(
    regions: Set<String> = [], prefixes: [String] = [], apps: Set<String> = [], weight: Double? = nil
  ) {
    precondition(weight ?? 1 > 0, "A weight is more than 0.")
    self.regions = regions
    self.prefixes = prefixes
    self.apps = apps
    self.weight = weight
  }

  /// Whether the lane takes a message.
  ///
  /// - Parameters:
  ///   - number: The recipient in E.164.
  ///   - app: The app that the job names.
  ///   - region: The region of the number, which takes a while to find; a number of none is served by lanes without a list.
  func admit(number: String, app: String?, region: () -> String?) -> Bool {
    guard apps.isEmpty || app.map(apps.contains) ?? false else { return false }
    guard prefixes.isEmpty || prefixes.contains(where: number.hasPrefix) else { return false }
    return regions.isEmpty || region().map(regions.contains) ?? false
  }
}
