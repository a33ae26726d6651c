import CountersignTelemetry

/// The hosts of an endpoint, tried in turn: the one that was connected last comes first.
struct Servers {
  /// Kinds of failure, the most telling first: with several hosts or addresses one of them is reported.
  private static let ranking: [StoreError.Code] = [
    .closed, .loginRefused, .permission, .tlsRefused, .readOnly, .shuttingDown, .outOfResources,
  ]

  private let endpoint: PostgreSQLEndpoint
  private let options: PostgreSQLOptions
  private let closing: Closing
  private var first = 0

  init(_ endpoint: PostgreSQLEndpoint, options: PostgreSQLOptions, closing: Closing) {
    self.endpoint = endpoint
    self.options = options
    self.closing = closing
  }

  mutating func connect() throws(StoreError) -> ServerLink {
    var failures: [StoreError] = []
    for offset in endpoint.hosts.indices {
      guard !closing.hasBegun else { throw StoreError(.closed, "the connection was closed") }
      let index = (first + offset) % endpoint.hosts.count
      do throws(StoreError) {
        let link = try ServerLink.open(endpoint, at: endpoint.hosts[index], options: options, closing: closing)
        first = index
        return link
      } catch {
        failures.append(error)
      }
    }
    throw Self.summary(of: failures)
  }

  static func rank(of error: StoreError) -> Int { ranking.firstIndex(of: error.code) ?? ranking.count }

  private static func summary(of failures: [StoreError]) -> StoreError {
    guard var worst = failures.min(by: { rank(of: $0) < rank(of: $1) }) else {
      return StoreError(.unreachable, "no host is configured")
    }
    worst.message = failures.map(\.message).joined(separator: "; ")
    return worst
  }
}
