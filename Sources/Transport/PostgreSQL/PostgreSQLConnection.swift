public import CountersignTelemetry

/// One connection to a database, on a thread of its own, where bodies run one after the other. Or several that only
/// read, for looks that wait for no writer: a body has one of them to itself.
///
/// It connects when it is first used. The next body after a loss meets a new ``PostgreSQLStatus/generation``. No body
/// is repeated automatically. After a failure to connect, bodies fail at once until
/// ``PostgreSQLOptions/reconnectDelay`` is over.
public final class PostgreSQLConnection: Sendable {
  private let connections: ConnectionGroup

  /// Makes a connection, without connecting.
  /// - Parameters:
  ///   - endpoint: servers, database and account.
  ///   - options: limits.
  ///   - prepare: runs on every new connection before any other body; its error ends the new connection and is thrown
  ///     to the body that waits. The place to take locks that belong to a session.
  /// - Throws: ``StoreError/Code/misuse`` for options that contradict each other.
  public init(
    _ endpoint: PostgreSQLEndpoint, options: PostgreSQLOptions = PostgreSQLOptions(),
    prepare: (@Sendable (PostgreSQLSession) throws(StoreError) -> Void)? = nil
  ) throws(StoreError) {
    let setting = ConnectionSetting(endpoint: endpoint, options: options, prepare: prepare)
    connections = try ConnectionGroup(setting, count: 1)
  }

  /// Makes ``PostgreSQLOptions/maxReaders`` connections that only read, without connecting.
  /// - Throws: ``StoreError/Code/misuse`` for options that contradict each other.
  public init(readersOf endpoint: PostgreSQLEndpoint, options: PostgreSQLOptions) throws(StoreError) {
    var options = options
    options.isReadOnly = true
    let setting = ConnectionSetting(endpoint: endpoint, options: options, prepare: nil)
    connections = try ConnectionGroup(setting, count: options.maxReaders)
  }

  /// State and figures of the first connection. Never waits.
  public var status: PostgreSQLStatus { statuses[0] }

  /// State and figures of every connection. Never waits. Waiting bodies are counted with the first one.
  public var statuses: [PostgreSQLStatus] {
    var statuses = connections.statuses
    statuses[0].waiting = connections.waiting
    return statuses
  }

  /// Runs a body outside of a transaction: each of its runs is a transaction of its own.
  ///
  /// Suspends until the body has run. Not cancellable.
  /// - Throws: the body's error; what kept it from a connection; ``StoreError/Code/overloaded`` if too many wait;
  ///   ``StoreError/Code/closed``.
  public func withSession<T: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> T
  ) async throws(StoreError) -> T {
    try await connections.run(isTransaction: false, body)
  }

  /// Runs a body in a transaction. `BEGIN` goes with its first run, `COMMIT` by itself at its end; an error of the body
  /// or of one of its runs rolls everything back.
  ///
  /// - Throws: as ``withSession(_:)``. If the answer to the commit is lost, the error has
  ///   ``StoreError/isCommitUnknown``.
  public func withTransaction<T: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> T
  ) async throws(StoreError) -> T {
    try await connections.run(isTransaction: true, body)
  }

  /// Refuses waiting and later bodies and ends the connection. Suspends until that is done; a second call waits
  /// likewise.
  /// - Parameters:
  ///   - limit: time that a running body has to end by itself; then its statement is canceled, and a second later the
  ///     connection is cut.
  ///   - last: body that runs last, if there is a connection; no other one runs between it and the end. Its failure
  ///     changes nothing.
  public func close(
    within limit: Duration = .seconds(2),
    last: (@Sendable (PostgreSQLSession) throws(StoreError) -> Void)? = nil
  ) async {
    await connections.close(within: limit, last: last)
  }
}
