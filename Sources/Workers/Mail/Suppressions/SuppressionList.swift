import CountersignTelemetry
public import JobEngine

/// The addresses that get no mail: shared by the mail-workers of a host, or of all hosts, and by the command line.
public struct SuppressionList: Sendable {
  private let store: any SuppressionStore

  init(_ store: any SuppressionStore) {
    self.store = store
  }

  /// Opens the list where the configuration has it: in its file, which is created if necessary, or in the ledger's
  /// database, whose tables have to be there.
  ///
  /// - Throws: `.storeUnavailable`, with a problem that the operator has to fix.
  public static func open(_ settings: SuppressionSettings) async throws(WorkerError) -> SuppressionList {
    if let database = settings.postgresql {
      return SuppressionList(try await PostgreSQLSuppressions.open(database))
    }
    return try await open(path: settings.path)
  }

  /// Opens a list in a file, and creates the file if necessary.
  ///
  /// - Throws: `.storeUnavailable`, with a problem that the operator has to fix.
  public static func open(path: String) async throws(WorkerError) -> SuppressionList {
    SuppressionList(try await SQLiteSuppressions.open(path: path))
  }

  /// The entry of an address, or `nil`.
  public func entry(for address: MailAddress) async throws(WorkerError) -> Suppression? {
    try await store.entry(of: address.key)
  }

  /// Adds an entry, unless the address has one.
  public func add(_ entry: Suppression) async throws(WorkerError) { try await store.add(entry) }

  /// The entries, the latest first.
  ///
  /// - Parameter limit: maximum number of entries.
  public func entries(limit: Int) async throws(WorkerError) -> [Suppression] { try await store.entries(limit: limit) }

  /// Removes an address from the list.
  ///
  /// - Returns: whether it was on the list.
  public func lift(_ address: MailAddress) async throws(WorkerError) -> Bool { try await store.remove(address.key) }

  /// Closes the file or the connection.
  public func close() async { await store.close() }
}

/// Storage of a ``SuppressionList``. Addresses are in lower case.
protocol SuppressionStore: Sendable {
  func entry(of address: String) async throws(WorkerError) -> Suppression?

  /// Adds an entry, unless the address has one.
  func add(_ entry: Suppression) async throws(WorkerError)

  /// The entries, the latest first.
  func entries(limit: Int) async throws(WorkerError) -> [Suppression]

  func remove(_ address: String) async throws(WorkerError) -> Bool

  func close() async
}

extension WorkerError {
  static func suppressions(cannotBe word: String, _ error: some Error) -> WorkerError {
    WorkerError(.storeUnavailable, "the suppression list cannot be \(word): \(error)")
  }
}
