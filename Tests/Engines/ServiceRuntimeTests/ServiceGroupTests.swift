import CountersignTelemetry
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

private final class Probe: Service {
  enum Behavior {
    case obeys
    case endsByItself
    case fails(any Error)
    case ignoresStop
    case ignoresStopAndCancellation
  }

  let name: String
  private let behavior: Behavior
  private let journal: Journal
  private let stream: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init(_ name: String, _ journal: Journal, _ behavior: Behavior = .obeys) {
    self.name = name
    self.behavior = behavior
    self.journal = journal
    (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  func run() async throws {
    journal.note("\(name) runs")
    switch behavior {
    case .obeys, .ignoresStop:
      for await _ in stream {}
    case .endsByItself: break
    case .fails(let error): throw error
    case .ignoresStopAndCancellation:
      await withCheckedContinuation { journal.hold($0) }
    }
    journal.note("\(name) ends")
  }

  func stop() async {
    journal.note("\(name) stop")
    if case .obeys = behavior { continuation.finish() }
  }
}

private final class Journal: Sendable {
  private struct State {
    var lines: [String] = []
    var held: CheckedContinuation<Void, Never>?
    var isReleased = false
  }

  private let state = Mutex(State())

  func note(_ line: String) { state.withLock { $0.lines.append(line) } }

  var lines: [String] { state.withLock { $0.lines } }

  func hold(_ continuation: CheckedContinuation<Void, Never>) {
    let isReleased = state.withLock { state -> Bool in
      if !state.isReleased { state.held = continuation }
      return state.isReleased
    }
    if isReleased { continuation.resume() }
  }

  func release() {
    let held = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.isReleased = true
      return state.held
    }
    held?.resume()
  }
}

private struct Failure: ExitingError {
  let exitCode = ExitCode.unavailable
  let description = "no provider"
}

@Suite struct ServicePairTests {
  @Test func `Both are asked to stop before either has ended`() async throws {
    let journal = Journal()
    let (first, second) = (Probe("first", journal, .ignoresStopAndCancellation), Probe("second", journal))
    let pair = ServicePair(name: "pair", first, second) { journal.note("finish") }
    let run = Task { try await pair.run() }
    await pair.stop()
    #expect(journal.lines.contains("first stop") && journal.lines.contains("second stop"))
    #expect(!journal.lines.contains("finish"))
    journal.release()
    try await run.value
    #expect(journal.lines.last == "finish")
  }

  @Test func `When one ends the other is stopped`() async throws {
    let journal = Journal()
    try await ServicePair(name: "pair", Probe("first", journal, .endsByItself), Probe("second", journal)).run()
    #expect(journal.lines.contains("second ends"))
  }

  @Test func `When one fails the other is stopped and the error thrown`() async {
    let journal = Journal()
    let pair = ServicePair(name: "pair", Probe("first", journal), Probe("second", journal, .fails(Failure()))) {
      journal.note("finish")
    }
    await #expect(throws: Failure.self) { try await pair.run() }
    #expect(journal.lines.contains("first ends") && journal.lines.last == "finish")
  }
}

@Suite struct ServiceGroupTests {
  private let journal = Journal()
  private let sink = MemorySink()
  private var logger: Logger { Logger(label: "test", level: .debug, sink: sink) }

  /// Sleeps forever, that is until the group has ended.
  private static let never: @Sendable (Duration) async throws -> Void = { _ in
    try await Task.sleep(for: .seconds(3600))
  }

  @Test func `Services stop in reverse order each after the other`() async {
    let group = ServiceGroup(
      [Probe("a", journal), Probe("b", journal)], logger: logger, onStopping: { [journal] in journal.note("stopping") },
      sleep: Self.never)
    group.stop()
    group.stop()
    #expect(await group.run() == .success)
    let stops = journal.lines.filter { !$0.hasSuffix("runs") }
    #expect(stops == ["stopping", "b stop", "b ends", "a stop", "a ends"])
  }

  @Test func `A service that fails stops the others with its exit code`() async {
    let group = ServiceGroup(
      [Probe("a", journal), Probe("b", journal, .fails(Failure()))], logger: logger, sleep: Self.never)
    #expect(await group.run() == .unavailable)
    #expect(journal.lines.contains("a ends"))
    #expect(sink.lines().contains { $0.contains("service failed service=b error=\"no provider\"") })
  }

  @Test func `A service that ends by itself is a fault`() async {
    let group = ServiceGroup(
      [Probe("a", journal), Probe("b", journal, .endsByItself)], logger: logger, sleep: Self.never)
    #expect(await group.run() == .internalError)
    #expect(journal.lines.contains("a ends"))
  }

  @Test func `After the ceiling what is left is canceled`() async {
    let sleeps = Mutex(0)
    let group = ServiceGroup(
      [Probe("a", journal, .ignoresStop), Probe("b", journal)], logger: logger, ceiling: .seconds(7),
      sleep: {
        #expect($0 == .seconds(7) || $0 == ServiceGroup.graceAfterCancellation)
        let isFirst = sleeps.withLock { count in
          count += 1
          return count == 1
        }
        if !isFirst { try await Self.never($0) }
      })
    group.stop()
    #expect(await group.run() == .temporaryFailure)
    #expect(journal.lines.contains("a ends"))
  }

  @Test func `Services that still run are abandoned`() async {
    let group = ServiceGroup(
      [Probe("a", journal, .ignoresStopAndCancellation)], logger: logger,
      abandon: { [journal] code in
        #expect(code == .temporaryFailure)
        journal.note("abandoned")
        journal.release()
      },
      sleep: { _ in })
    group.stop()
    #expect(await group.run() == .temporaryFailure)
    #expect(journal.lines.contains("abandoned"))
  }
}
