import ServiceRuntime
import Testing

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

@Suite struct StopSignalsTests {
  @Test(.timeLimit(.minutes(10))) func `A hang-up is told and stops nothing`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let (stream, continuation) = AsyncStream<Int32>.makeStream()
      let signals = try StopSignals(
        onFirst: { continuation.yield($0) }, onSecond: { _ in exit(1) }, onHangUp: { continuation.yield(SIGHUP) })
      for _ in 1...2 { kill(getpid(), SIGHUP) }
      var told: [Int32] = []
      for await number in stream {
        if number == SIGHUP, told.isEmpty { kill(getpid(), SIGTERM) }
        told.append(number)
        if number == SIGTERM { break }
      }
      withExtendedLifetime(signals) {}
      exit(told.first == SIGHUP ? 7 : 2)
    }
  }

  @Test(.timeLimit(.minutes(10))) func `The second signal ends the process`() async {
    await #expect(processExitsWith: .exitCode(130)) {
      let (stream, continuation) = AsyncStream<Int32>.makeStream()
      let signals = try StopSignals(onFirst: { continuation.yield($0) })
      kill(getpid(), SIGTERM)
      for await first in stream where first == SIGTERM { kill(getpid(), SIGINT) }
      withExtendedLifetime(signals) {}
    }
  }
}
