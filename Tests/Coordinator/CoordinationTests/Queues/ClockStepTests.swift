import CountersignAMQP
import CountersignMessages
import TestSupport
import Testing

@testable import CommandEngine
@testable import Coordination
@testable import RecordStore

/// A wall clock that is set while the coordinator runs. What is over is judged by it; what only waits must not.
@Suite struct ClockStepTests {
  let bench: Bench

  init() async throws { bench = try await Bench() }

  private static let steps = [-3600, -60, 60, 3600]
  private let start = StartVerification(phoneNumber: Bench.number, app: Bench.app)

  @Test(arguments: [-3600, -60])
  func `Nobody waits for a code longer than the gap`(step: Int) async throws {
    let first = try await bench.start()
    bench.clock.advance(by: .seconds(step))
    let second = try await bench.start()
    #expect(second.verificationID == first.verificationID)
    #expect(second.resent && second.resendAfter == 60)
    bench.clock.advance(by: .seconds(59))
    #expect(try await !bench.start().resent)
  }

  @Test(arguments: [1, 5_000, 10_000])
  func `A clock that is a little behind the one of the first start sends no second SMS`(milliseconds: Int) async throws
  {
    let first = try await bench.start()
    bench.clock.advance(by: .milliseconds(-milliseconds))
    let second = try await bench.start()
    #expect(second.verificationID == first.verificationID && !second.resent)
    #expect(try bench.jobs().isEmpty)
  }

  @Test func `When a limit forbids a resend, the wait is the limit's`() async throws {
    let bench = try await Bench(Bench.rules { $0.limits[.sendsPerNumberPer10Minutes] = 1 })
    _ = try await bench.start()
    bench.clock.advance(by: .seconds(-60))
    let second = try await bench.start()
    #expect(!second.resent && second.resendAfter <= 660)
  }

  @Test(arguments: steps)
  func `A code can be given back after the clock was set back, and is over after it was set ahead`(step: Int)
    async throws
  {
    let (id, code) = try await bench.begin()
    bench.clock.advance(by: .seconds(step))
    let reply = try await bench.check(id, code)
    #expect((reply.type == "verification.approved.v1") == (step < 300))
    #expect(try await bench.start().verificationID != id)
  }

  @Test func `Commands of a sender whose clock is right have no age when the coordinator's was set back`() async throws
  {
    let sentAt = bench.clock.now()
    bench.clock.advance(by: .seconds(-3600))
    #expect(try await bench.ask(start, sentAt: sentAt).type == "verification.started.v1")
  }
}
