import CountersignConcurrency
import CountersignTelemetry

extension ServerLink {
  /// Connects to one host: looks its name up, tries its addresses, logs in, and sets the session up.
  static func open(
    _ endpoint: PostgreSQLEndpoint, at address: ServerAddress, options: PostgreSQLOptions, closing: Closing
  ) throws(StoreError) -> ServerLink {
    let deadline = ContinuousClock.now + options.connectTimeout
    let numbers = try numbers(of: address, until: deadline, closing)
    var failure = StoreError(.unreachable, "\(address) has no address")
    for (index, number) in numbers.enumerated() {
      // An address that does not answer leaves time for the others.
      let left = ContinuousClock.now.duration(to: deadline)
      let parameters = ConnectionParameters(endpoint, address: address, number: number, options: options)
      do throws(StoreError) {
        let link = try connect(
          parameters, to: address, options: options, closing: closing,
          until: .now + left / (numbers.count - index))
        try link.setUp(within: max(ContinuousClock.now.duration(to: deadline), .milliseconds(1)))
        return link
      } catch {
        var error = error
        // It was not in use yet.
        if error.code == .connectionLost { error.code = .unreachable }
        if Servers.rank(of: error) <= Servers.rank(of: failure) { failure = error }
      }
    }
    throw failure
  }

  static func certificateEnd(
    _ endpoint: PostgreSQLEndpoint, of address: ServerAddress, options: PostgreSQLOptions, closing: Closing
  ) -> Int64? {
    let deadline = ContinuousClock.now + options.connectTimeout
    let numbers = (try? numbers(of: address, until: deadline, closing)) ?? []
    for (index, number) in numbers.enumerated() {
      let left = ContinuousClock.now.duration(to: deadline)
      let end = certificateEnd(
        ConnectionParameters(looking: endpoint, address: address, number: number, options: options), of: address,
        closing: closing, until: .now + left / (numbers.count - index))
      if let end { return end }
    }
    return nil
  }

  private static func numbers(
    of address: ServerAddress, until deadline: ContinuousClock.Instant, _ closing: Closing
  ) throws(StoreError) -> [String?] {
    guard !address.isSocket else { return [nil] }
    let found = HostResolver.addresses(of: address.host, until: deadline) { closing.hasBegun }
    guard !found.isEmpty else {
      throw StoreError(.unreachable, "\(address) cannot be reached: the name is not known")
    }
    return found.map(\.text)
  }

  /// Makes sure that the server is the one that takes changes, and tells it the limits: one round trip.
  private func setUp(within limit: Duration) throws(StoreError) {
    let state = PostgreSQLStatement(
      "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('default_transaction_read_only')",
      isPrepared: false)
    let settings = ConnectionParameters.serverSettings(options)
    let calls = settings.indices.map { "pg_catalog.set_config($\(2 * $0 + 1), $\(2 * $0 + 2), false)" }
    let setting = PostgreSQLStatement(
      "SELECT \(calls.joined(separator: ", "))", settings.flatMap { [.text($0.name), .text($0.value)] },
      isPrepared: false)
    let row = try run([state, setting], within: limit)[0][0]
    guard try !row.bool(0) else {
      throw StoreError(.readOnly, "\(address) is a standby")
    }
    let isFrozen = try row.text(1) == "on"
    guard options.isReadOnly || !isFrozen else {
      throw StoreError(.readOnly, "\(address) was made read-only (default_transaction_read_only)")
    }
  }
}
