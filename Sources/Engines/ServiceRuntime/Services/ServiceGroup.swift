import CountersignConcurrency
public import CountersignTelemetry
import Synchronization

/// Runs the services of a process: starts them in order, stops them in the reverse order.
///
/// ```
/// running ──stop()──> stopping ──all ended──> run() returns
///    │                   │ ceiling passed
///    │                   └──> tasks canceled ──grace passed──> abandon()
///    └──a service ended by itself──> stopping, with its exit code
/// ```
public final class ServiceGroup: Sendable {
  /// Time for canceled services to end before the process is ended regardless.
  public static let graceAfterCancellation = Duration.seconds(2)

  private let services: [any Service]
  private let logger: Logger
  private let ceiling: Duration
  private let sleep: @Sendable (Duration) async throws -> Void
  private let abandon: @Sendable (ExitCode) -> Void
  private let onStopping: @Sendable () -> Void
  private let stopRequested = Latch()
  private let exitCode = Mutex<ExitCode?>(nil)

  public init(
    _ services: [any Service], logger: Logger, ceiling: Duration = .seconds(20),
    onStopping: @escaping @Sendable () -> Void = {},
    abandon: @escaping @Sendable (ExitCode) -> Void = { ProcessExit.now($0) },
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) {
    self.services = services
    self.logger = logger
    self.ceiling = ceiling
    self.onStopping = onStopping
    self.abandon = abandon
    self.sleep = sleep
  }

  /// Asks all services to stop. Returns at once. Asking again does nothing.
  public func stop() {
    stopRequested.open()
  }

  /// Runs all services until they have ended. Call once.
  /// - Returns: the exit code of the process: success after ``stop()``, else that of the first service that ended by
  ///   itself.
  @concurrent
  public func run() async -> ExitCode {
    let ended = services.map { _ in Latch() }
    await withTaskGroup(of: Void.self) { group in
      for (service, end) in zip(services, ended) {
        logger.debug("service started", [.service: service.name])
        group.addTask { await self.run(service, end) }
      }
      group.addTask { await self.stopWhenRequested(ended) }
      // The ceiling's own task is not a child of the group: a child that the group waits for could not cancel it.
      let isOver = Latch()
      let watch = Task { await self.enforceCeiling(isOver) }
      await self.waitOrCancel(&group, isOver)
      watch.cancel()
    }
    return exitCode.withLock { $0 } ?? .success
  }

  private func waitOrCancel(_ group: inout TaskGroup<Void>, _ isOver: Latch) async {
    // One more child, which ends when the ceiling is over or it is canceled, whichever comes first.
    var remaining = services.count + 1
    group.addTask {
      if await !isOver.wait() { isOver.open() }
    }
    while remaining > 0, await group.next() != nil {
      remaining -= 1
      if isOver.isOpen { break }
    }
    group.cancelAll()
  }

  private func run(_ service: any Service, _ ended: Latch) async {
    defer { ended.open() }
    do {
      try await service.run()
      guard !stopRequested.isOpen else { return }
      logger.error("service ended without a request to stop", [.service: service.name])
      end(with: .internalError)
    } catch {
      let isExpected = error is CancellationError && stopRequested.isOpen
      guard !isExpected else { return }
      logger.error("service failed", [.service: service.name, .error: Self.text(error)])
      end(with: (error as? any ExitingError)?.exitCode ?? .internalError)
    }
  }

  /// The first failure decides the exit code. Failures because others stop do not change it.
  private func end(with code: ExitCode) {
    exitCode.withLock { $0 = $0 ?? code }
    stop()
  }

  private func stopWhenRequested(_ ended: [Latch]) async {
    await stopRequested.waitIgnoringCancellation()
    onStopping()
    logger.info("stopping")
    for (service, ended) in zip(services, ended).reversed() {
      logger.debug("service stopping", [.service: service.name])
      await service.stop()
      await ended.waitIgnoringCancellation()
    }
  }

  private func enforceCeiling(_ isOver: Latch) async {
    await stopRequested.waitIgnoringCancellation()
    do {
      try await sleep(ceiling)
      logger.error("stop took too long; the rest is canceled", [.duration: ceiling])
      exitCode.withLock { $0 = $0 ?? .temporaryFailure }
      isOver.open()
      try await sleep(Self.graceAfterCancellation)
      logger.error("services did not end even when canceled; the process is ended")
      abandon(.temporaryFailure)
    } catch {
      // Canceled: everything has ended in time.
    }
  }

  /// Loggable text of an error: our own errors' texts, but only the type of others, which may contain anything.
  private static func text(_ error: any Error) -> String {
    if let error = error as? any CustomStringConvertible { return error.description }
    return String(describing: type(of: error))
  }
}
