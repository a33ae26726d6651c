public import PostgreSQL

extension PostgreSQLStore {
  /// Checks that no pooler shares sessions of the server between connections.
  ///
  /// A pooler in transaction mode gives each transaction whatever session is free: a lock would have no owner.
  /// - Throws: ``StoreError/Code/schema`` with the remedy; failures of the server.
  public static func verifySession(
    _ endpoint: PostgreSQLEndpoint, options: PostgreSQLOptions = PostgreSQLOptions()
  ) async throws(StoreError) {
    let isOwn = try await PoolerCheck(endpoint, options).run()
    guard !isOwn else { return }
    throw StoreError(
      .schema,
      "a pooler before PostgreSQL gives each transaction another session: use its session mode (pool_mode = session), or connect to the server itself"
    )
  }
}

/// Two open connections that tell which of the server's sessions they have.
///
/// The one that asks gets a session that the other one had, or another one than before, unless each has its own.
struct PoolerCheck: Sendable {
  private let connections: [PostgreSQLConnection]
  private let between: @Sendable () async -> Void

  private static let process = PostgreSQLStatement("SELECT pg_backend_pid()", isPrepared: false)
  /// Order in which they ask. It has no period, as a pooler that takes its free sessions in turn has.
  private static let turns = [0, 1, 1, 0, 0, 1, 0, 1, 1]

  init(
    _ endpoint: PostgreSQLEndpoint, _ options: PostgreSQLOptions, between: @escaping @Sendable () async -> Void = {}
  ) throws(StoreError) {
    self.between = between
    connections = [
      try PostgreSQLConnection(endpoint, options: options), try PostgreSQLConnection(endpoint, options: options),
    ]
  }

  func run() async throws(StoreError) -> Bool {
    let result: Result<Bool, StoreError>
    do throws(StoreError) { result = .success(try await compare()) } catch { result = .failure(error) }
    for connection in connections { await connection.close() }
    return try result.get()
  }

  private func compare() async throws(StoreError) -> Bool {
    var processes: [Set<Int>] = [[], []]
    for turn in Self.turns {
      let process = try await connections[turn].withSession { session throws(StoreError) in
        // A connection that was replaced meanwhile has another session without any pooler.
        guard session.generation == 1 else {
          throw StoreError(.connectionLost, "the connection was lost during the look for a pooler")
        }
        return try session.run([Self.process])[0][0].int(0)
      }
      await between()
      processes[turn].insert(process)
    }
    return processes[0].count == 1 && processes[1].count == 1 && processes[0] != processes[1]
  }
}
