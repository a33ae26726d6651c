public import CountersignTelemetry

/// Several connections that only read, each on a thread of its own, for looks that wait for no writer.
///
/// Each is made when it is needed. A body has one of them to itself.
public final class PostgreSQLPool: Sendable {
  private let connections: ConnectionGroup

  /// Makes a pool of ``PostgreSQLOptions/maxReaders`` connections, without connecting.
  /// - Throws: ``StoreError/Code/misuse`` for options that contradict each other.
  public init(
    _ endpoint: PostgreSQLEndpoint, options: PostgreSQLOptions = PostgreSQLOptions()
  ) throws(StoreError) {
    var options = options
    options.isReadOnly = true
    let setting = ConnectionSetting(endpoint: endpoint, options: options, prepare: nil)
    connections = try ConnectionGroup(setting, count: options.maxReaders)
  }

  /// State and figures of every connection. Never waits. Waiting bodies are counted with the first one.
  public var status: [PostgreSQLStatus] {
    var statuses = connections.statuses
    statuses[0].waiting = connections.waiting
    return statuses
  }

  /// Runs a body on a connection that is free, as ``PostgreSQLConnection/withSession(_:)`` does.
  public func withSession<T: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> T
  ) async throws(StoreError) -> T {
    try await connections.run(isTransaction: false, body)
  }

  /// Runs a body in a transaction on a connection that is free.
  public func withTransaction<T: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> T
  ) async throws(StoreError) -> T {
    try await connections.run(isTransaction: true, body)
  }

  /// Ends all connections, as ``PostgreSQLConnection/close(within:)`` does.
  public func close(within limit: Duration = .seconds(2)) async {
    await connections.close(within: limit)
  }
}
