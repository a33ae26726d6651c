import CountersignConcurrency
public import CountersignTelemetry

/// An SQLite file in WAL mode, shared by many tasks of this process and by other processes.
///
/// Writes go in groups: all waiting bodies share one transaction and one wait for the disk. Reads have their own
/// connections and never wait. Beside the file (mode 0600) lie SQLite's `-wal` and `-shm` and our `-turn`, for the
/// ``Turnstile``.
public final class Database: Sendable {
  /// The path of the file.
  public let path: String

  private let writer: Writer
  private let readers: [Reader]
  private let writes: WorkQueue<PendingBody>
  private let reads: WorkQueue<PendingBody>
  private let counters: Counters

  private init(path: String, options: DatabaseOptions) {
    let writes = WorkQueue<PendingBody>(connections: 1, limit: options.maxWaiting)
    let reads = WorkQueue<PendingBody>(connections: options.readers, limit: options.maxWaiting)
    let counters = Counters()
    self.path = path
    self.writes = writes
    self.reads = reads
    self.counters = counters
    writer = Writer(path: path, options: options, work: writes, counters: counters)
    readers = (0..<options.readers).map { Reader(number: $0, work: reads) }
  }

  /// Opens a database, creating the file if there is none, and brings its schema up to date.
  ///
  /// Several processes may do so at once. Suspends while others hold the file, up to `options.busyTimeout`.
  /// - Parameters:
  ///   - path: the file; its directory must exist.
  ///   - options: limits and how safe a commit is.
  ///   - kind: the service that the file belongs to; `nil` for a file of no service.
  ///   - migrations: every step of the schema from version 1 on.
  /// - Throws: ``StoreError``, whose message names the remedy for an operator.
  public static func open(
    path: String, options: DatabaseOptions = DatabaseOptions(), kind: DatabaseKind? = nil, migrations: [Migration]
  ) async throws(StoreError) -> Database {
    try options.check()
    let migrator = try Migrator(migrations, of: kind)
    let database = Database(path: path, options: options)
    do throws(StoreError) {
      try await database.writer.open(path: path, migrator: migrator)
      for reader in database.readers { try await reader.open(path: path, options: options) }
    } catch {
      await database.close()
      throw error
    }
    return database
  }

  /// Runs a body that changes the database, in a transaction that it shares with the others that wait.
  ///
  /// Suspends until the commit, or until the body's changes have been undone. Not cancellable: a body that was handed
  /// in runs, and its caller learns what became of it.
  /// - Parameters:
  ///   - isSingleChange: promises that the body throws only its statements' errors, and none after a statement that has
  ///     changed something: a failing statement undoes itself (https://www.sqlite.org/lang_conflict.html), so nothing
  ///     else is to be undone. It spares the savepoint, for which SQLite copies every page that the body changes.
  ///   - body: runs on the writer's thread, at most once; it must be short. An error that it throws undoes its own
  ///     changes only.
  /// - Returns: the body's result, once its changes are committed.
  /// - Throws: the body's error; ``StoreError/Code/busy``, ``StoreError/Code/diskFull`` and the like for the
  ///   whole group; ``StoreError/Code/overloaded`` if too many wait; ``StoreError/Code/closed``.
  public func write<T: Sendable>(
    isSingleChange: Bool = false,
    _ body: @escaping @Sendable (Session) throws(StoreError) -> T
  ) async throws(StoreError) -> T {
    let result: Result<T, StoreError> = await withCheckedContinuation { continuation in
      submit(PendingBody(needsSavepoint: !isSingleChange, body, continuation), to: writes) { _ in writer.wake() }
    }
    return try result.get()
  }

  /// Runs a body that only reads, on a connection of its own, seeing all that was committed when it was called.
  ///
  /// Suspends until the body has run; never for writers.
  /// - Parameter body: runs on a reader's thread and must be short: while it reads, the write-ahead log cannot start
  ///   anew.
  /// - Throws: the body's error; ``StoreError/Code/overloaded`` if too many wait; ``StoreError/Code/closed``.
  public func read<T: Sendable>(
    _ body: @escaping @Sendable (Session) throws(StoreError) -> T
  ) async throws(StoreError) -> T {
    let result: Result<T, StoreError> = await withCheckedContinuation { continuation in
      submit(PendingBody(body, continuation), to: reads) { readers[$0].wake() }
    }
    return try result.get()
  }

  /// Runs waiting bodies, refuses later ones, and closes the file. Suspends until that is done; a second call waits
  /// likewise.
  public func close() async {
    writes.close()
    reads.close()
    for reader in readers { await reader.close() }
    await writer.close()
  }

  /// Figures since the database was opened.
  public var statistics: DatabaseStatistics {
    var statistics = counters.snapshot
    statistics.waitingWrites = writes.count
    statistics.waitingReads = reads.count
    return statistics
  }

  private func submit(_ body: PendingBody, to work: WorkQueue<PendingBody>, wake: (Int) -> Void) {
    switch work.append(body) {
    case .waiting(let sleeper):
      if let sleeper { wake(sleeper) }
    case .full:
      body.refuse(
        StoreError(.overloaded, "too many wait for \(path): its disk is too slow, or another process holds it"))
    case .closed:
      body.refuse(StoreError(.closed, "the database \(path) was closed"))
    }
  }
}
