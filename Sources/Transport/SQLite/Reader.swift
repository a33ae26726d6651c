import CountersignConcurrency
import CountersignTelemetry
import Dispatch

/// A connection that reads, on a serial queue of its own.
actor Reader {
  /// Bodies that share one snapshot. Few, so that a slow one delays few others.
  private static let maxBatch = 16

  private let executor: SerialQueueExecutor
  private let number: Int
  private let work: WorkQueue<PendingBody>
  private var connection: SQLiteConnection?

  init(number: Int, work: WorkQueue<PendingBody>) {
    self.executor = SerialQueueExecutor(label: "database.reader.\(number)")
    self.number = number
    self.work = work
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func open(path: String, options: DatabaseOptions) throws(StoreError) {
    let connection = try SQLiteConnection(path: path, options: options)
    try connection.configure(options)
    try connection.script("PRAGMA query_only = ON")
    self.connection = connection
  }

  func close() {
    connection?.close()
    connection = nil
  }

  /// Called once for each time the connection is taken from the idle ones.
  nonisolated func wake() {
    executor.queue.async { self.assumeIsolated { $0.drain() } }
  }

  private func drain() {
    while true {
      let bodies = work.take(Self.maxBatch, for: number)
      guard !bodies.isEmpty else { return }
      run(bodies)
      work.finish(bodies.count)
    }
  }

  /// The snapshot begins after all of the bodies were handed in, so each sees what its caller has seen committed.
  private func run(_ bodies: [PendingBody]) {
    guard let connection else {
      for body in bodies { body.refuse(StoreError(.closed, "the database was closed")) }
      return
    }
    do {
      try connection.run("BEGIN")
    } catch {
      for body in bodies { body.refuse(error) }
      return
    }
    let outcomes = bodies.map { $0.run(Session(connection: connection)) }
    // Nothing was written, so nothing can be lost here; and the snapshot must end before the callers go on.
    connection.rollBackIfOpen()
    for outcome in outcomes { outcome.resume(nil) }
  }
}
