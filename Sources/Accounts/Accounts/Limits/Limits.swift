import ServiceRuntime

/// Figures of the limits in force.
struct Limits: Sendable, Hashable {
  private var changed: [String: Int] = [:]
  /// So many times what an address may, the network around it may.
  var networkFactor = 10

  /// Those of development, where tests come from one address.
  static let development = Limits(all: 1_000_000)

  init() {}

  private init(all figure: Int) {
    for limit in Limit.all { changed[limit.key] = figure }
  }

  subscript(limit: Limit) -> Int {
    get { (changed[limit.key] ?? limit.figure) * (limit.isOfNetwork ? networkFactor : 1) }
    set { changed[limit.key] = newValue == limit.figure ? nil : newValue }
  }
}

extension Limits {
  private static let range = 0...1_000_000_000

  init(_ section: ConfigurationSection) {
    for limit in Limit.all where !limit.isOfNetwork {
      self[limit] = section.integer(limit.key, default: limit.figure, in: Self.range, limit.help)
    }
    networkFactor = section.integer(
      "networkFactor", default: networkFactor, in: 1...1_000_000,
      "How many times what an address may, its network may: the /24 of an IPv4 address, the /48 of an IPv6 one.")
  }
}
