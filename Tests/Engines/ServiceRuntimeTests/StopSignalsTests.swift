import ServiceRuntime
import Testing

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

@Suite struct StopSignalsTests {
  @Test("The second signal ends the process", .timeLimit(.minutes(10))) func theSecondSignalEndsTheProcess() async {
    await #expect(processExitsWith: .exitCode(130)) {
      let (stream, continuation) = AsyncStream<Int32>.makeStream()
      let signals = try StopSignals(onFirst: { continuation.yield($0) })
      kill(getpid(), SIGTERM)
      for await first in stream where first == SIGTERM { kill(getpid(), SIGINT) }
      withExtendedLifetime(signals) {}
    }
  }
}
