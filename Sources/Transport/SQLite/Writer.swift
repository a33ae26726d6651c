import CountersignConcurrency
import CountersignTelemetry
import Dispatch

/// The connection that writes, on a serial queue of its own.
///
/// All bodies that wait run in one transaction, each inside a savepoint, so that one which fails takes nothing of the
/// others with it. Their callers are resumed after the commit. While a commit waits for the disk, the next group
/// gathers: the busier, the cheaper.
actor Writer {
  private let executor: SerialQueueExecutor
  private let work: WorkQueue<PendingBody>
  private let counters: Counters
  private let options: DatabaseOptions
  /// Maximum time that a group waits for its turn. Turns last a group or two; a longer wait means a process that hangs.
  private let patience: Duration
  private var connection: SQLiteConnection?
  private var turnstile: Turnstile?
  /// The size of the log in pages at which it is copied next.
  private var nextCheckpoint: Int
  private var lastLogPages = 0

  init(path: String, options: DatabaseOptions, work: WorkQueue<PendingBody>, counters: Counters) {
    self.executor = SerialQueueExecutor(label: "database.writer")
    self.options = options
    self.patience = options.busyTimeout / 4
    self.work = work
    self.counters = counters
    self.nextCheckpoint = options.checkpointPages
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Opens the file, creating it if need be, and brings its schema up to date. Processes that start at once take turns.
  func open(path: String, migrator: Migrator) throws(StoreError) {
    try DatabaseFile(path: path).prepare()
    let turnstile = try Turnstile(path: path)
    turnstile.enter(within: options.busyTimeout)
    defer { turnstile.leave() }
    let connection = try SQLiteConnection(path: path, options: options)
    try connection.configure(options)
    try migrator.run(on: connection)
    if options.isShrinkable { try connection.makeShrinkable() }
    self.connection = connection
    self.turnstile = turnstile
  }

  func close() {
    connection?.close()
    connection = nil
    turnstile = nil
  }

  /// Called once for each time the connection is taken from the idle ones.
  nonisolated func wake() {
    executor.queue.async { self.assumeIsolated { $0.drain() } }
  }

  private func drain() {
    while true {
      let bodies = work.take(options.maxBatch, for: 0)
      guard !bodies.isEmpty else { return }
      runGroups(of: bodies)
      checkpointIfDue()
    }
  }

  /// Usually one group. Several if the bodies would keep other processes waiting for too long.
  private func runGroups(of bodies: [PendingBody]) {
    var rest = bodies[...]
    while !rest.isEmpty {
      let done = runGroup(of: rest)
      rest = rest.dropFirst(done)
    }
  }

  private func runGroup(of bodies: ArraySlice<PendingBody>) -> Int {
    guard let connection else {
      return refuse(bodies, StoreError(.closed, "the database was closed"))
    }
    do {
      try begin(connection)
    } catch {
      // Closing must not wait for one time-out after the other.
      if work.isClosed { _ = refuse(work.takeAll()[...], error) }
      return refuse(bodies, error)
    }
    var group = Group(connection: connection)
    group.run(bodies, until: .now + options.maxGroupTime)
    let error = group.commit()
    let outcomes = group.outcomes
    work.finish(outcomes.count)
    counters.group(of: outcomes.count, failed: error != nil)
    for outcome in outcomes { outcome.resume(error) }
    return outcomes.count
  }

  private func begin(_ connection: SQLiteConnection) throws(StoreError) {
    turnstile?.enter(within: patience)
    defer { turnstile?.leave() }
    try connection.run("BEGIN IMMEDIATE")
  }

  private func refuse(_ bodies: ArraySlice<PendingBody>, _ error: StoreError) -> Int {
    work.finish(bodies.count)
    counters.group(of: bodies.count, failed: true)
    for body in bodies { body.refuse(error) }
    return bodies.count
  }

  /// Keeps the write-ahead log bounded. A failure is not the callers': their commits are safe in the log. It is
  /// counted, and tried again when the log has grown by as much once more.
  private func checkpointIfDue() {
    guard let connection else { return }
    let pages = connection.logPages
    // This or another process has started the log anew.
    if pages < lastLogPages { nextCheckpoint = options.checkpointPages }
    lastLogPages = pages
    guard pages >= nextCheckpoint else { return }
    nextCheckpoint = pages + options.checkpointPages
    do {
      try checkpoint(connection, restarting: pages >= options.maxLogPages)
    } catch {
      // Another process is at it, or a reader holds on to an old snapshot.
      if error.code != .busy { counters.checkpointFailed(error) }
    }
  }

  /// With the turn taken no other process begins a group. Were the log copied beside their groups (SQLite's automatic,
  /// passive checkpoints), it would hardly ever be all copied at any one moment, and only then can it start anew.
  private func checkpoint(_ connection: SQLiteConnection, restarting: Bool) throws(StoreError) {
    turnstile?.enter(within: patience)
    defer { turnstile?.leave() }
    try connection.checkpoint(restarting: restarting)
  }
}
