import CountersignTelemetry
import Synchronization
import TestSupport
import Testing

@testable import ServiceRuntime

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

@Suite struct ProcessStopTests {
  private struct Refused: Error {}

  private func stop(
    _ onCanceling: @escaping @Sendable () -> Void = {}, abandon: @escaping @Sendable (ExitCode) -> Void = { _ in },
    sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in throw CancellationError() }
  ) -> ProcessStop {
    ProcessStop(
      logger: Logger(label: "test", sink: MemorySink()), ceiling: .seconds(1), onCanceling: onCanceling,
      abandon: abandon, sleep: sleep)
  }

  @Test(.timeLimit(.minutes(10))) func `A signal ends a start that waits, in order`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let stop = ProcessStop(logger: Logger(label: "test", sink: MemorySink()), ceiling: .seconds(50))
      let signals = try StopSignals(onFirst: { _ in stop.request() })
      let started: Void? = try await stop.canceling {
        kill(getpid(), SIGTERM)
        try await Task.sleep(for: .seconds(600))
      }
      withExtendedLifetime(signals) { exit(started == nil ? 7 : 1) }
    }
  }

  @Test func `A start is canceled by a request before or in it, and becomes not ready`() async throws {
    for isBefore in [true, false] {
      let calls = Mutex(0)
      let stop = stop { calls.withLock { $0 += 1 } }
      if isBefore { stop.request() }
      let started: Int? = try await stop.canceling {
        if !isBefore { stop.request() }
        try await Task.sleep(for: .seconds(600))
        return 1
      }
      #expect(started == nil)
      #expect(calls.withLock { $0 } == 1)
    }
  }

  @Test func `A start that succeeds all the same is stopped as services are`() async throws {
    let stop = stop()
    #expect(
      try await stop.canceling {
        stop.request()
        return 1
      } == 1)
    let calls = Mutex(0)
    stop.onRequest { calls.withLock { $0 += 1 } }
    #expect(calls.withLock { $0 } == 1)
  }

  @Test func `Without a request, a start fails with its own error`() async {
    await #expect(throws: Refused.self) { try await stop().canceling { () -> Void in throw Refused() } }
  }

  @Test(.timeLimit(.minutes(10)))
  func `A start that does not end is given up after the ceiling`() async throws {
    let (codes, continuation) = AsyncStream<ExitCode>.makeStream()
    let stop = stop(abandon: { continuation.yield($0) }, sleep: { _ in })
    let started: ExitCode? = try await stop.canceling {
      stop.request()
      // For the canceled task itself the stream would end at once.
      return try #require(await Task.detached { await codes.first { _ in true } }.value)
    }
    #expect(started == .temporaryFailure)
  }
}
