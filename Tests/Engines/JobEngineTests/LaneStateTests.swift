import CountersignTelemetry
import Testing

@testable import JobEngine

@Suite struct LaneStateTests {
  private let outage = Reason("AUTHENTICATION", "The provider refused the credentials.")
  private let far = begin + .seconds(600)

  private func lane(
    concurrency: Int = 2, rate: LaneRate? = nil, threshold: Int = 3,
    probe: ClosedRange<Duration> = .seconds(1) ... .seconds(60)
  ) -> LaneState {
    LaneState(
      LaneConfiguration(
        name: "a", concurrency: concurrency, rate: rate, breakerThreshold: threshold, probeDelay: probe),
      now: begin)
  }

  private func grant(_ lane: inout LaneState, at now: MonotonicTime = begin) throws -> SlotGrant {
    guard case .granted(let grant) = lane.acquire(ticket: nil, giveUpAt: far, now: now) else {
      throw Missing.grant
    }
    return grant
  }

  private enum Missing: Error { case grant }

  /// A lane that is down.
  private func downLane(concurrency: Int = 2) throws -> LaneState {
    var lane = lane(concurrency: concurrency)
    let call = try grant(&lane)
    _ = lane.finish(call, .down(outage), now: begin, jitter: 0)
    return lane
  }

  /// A lane whose provider cannot tell whether it is up again, a second after it went down.
  private func lane(untoldAt now: MonotonicTime) throws -> LaneState {
    var lane = try downLane(concurrency: 5)
    _ = lane.startProbeIfDue(now: begin + .seconds(1))
    _ = lane.probed(.cannotTell, now: now, jitter: 0)
    return lane
  }

  @Test func `Slots are bounded and handed on in order`() throws {
    var lane = lane()
    let first = try grant(&lane)
    _ = try grant(&lane)
    #expect(lane.acquire(ticket: 1, giveUpAt: far, now: begin) == nil)
    #expect(lane.acquire(ticket: 2, giveUpAt: far, now: begin) == nil)
    let resumed = lane.finish(first, .answered, now: begin, jitter: 0)
    #expect(resumed == [.init(ticket: 1, answer: .granted(SlotGrant(epoch: 0, isTrial: false)))])
    #expect(lane.inFlight == 2)
    #expect(lane.waiting == 1)
  }

  @Test func `Nobody overtakes a waiter`() throws {
    var lane = lane(concurrency: 1)
    let first = try grant(&lane)
    #expect(lane.acquire(ticket: 1, giveUpAt: far, now: begin) == nil)
    #expect(lane.acquire(ticket: nil, giveUpAt: far, now: begin) == nil)
    #expect(lane.finish(first, .answered, now: begin, jitter: 0).map(\.ticket) == [1])
    #expect(lane.acquire(ticket: nil, giveUpAt: far, now: begin) == nil)
  }

  @Test func `Waits are bounded`() throws {
    var lane = LaneState(LaneConfiguration(name: "a", concurrency: 1, maxWaiting: 1), now: begin)
    _ = try grant(&lane)
    #expect(lane.acquire(ticket: 1, giveUpAt: far, now: begin) == nil)
    #expect(lane.acquire(ticket: 2, giveUpAt: far, now: begin) == .busy)
  }

  @Test func `Waits end by their deadline or a stop`() throws {
    var lane = lane(concurrency: 1)
    _ = try grant(&lane)
    #expect(lane.acquire(ticket: 1, giveUpAt: begin + .seconds(5), now: begin) == nil)
    #expect(lane.acquire(ticket: 2, giveUpAt: begin + .seconds(9), now: begin) == nil)
    #expect(lane.advance(now: begin + .seconds(4)).isEmpty)
    #expect(lane.advance(now: begin + .seconds(5)) == [.init(ticket: 1, answer: .busy)])
    #expect(lane.stop() == [.init(ticket: 2, answer: .stopping)])
    #expect(lane.acquire(ticket: nil, giveUpAt: far, now: begin) == .stopping)
  }

  @Test func `Rate bounds calls and time hands out slots`() throws {
    var lane = lane(concurrency: 10, rate: LaneRate(perSecond: 10, burst: 2))
    _ = try grant(&lane)
    _ = try grant(&lane)
    #expect(lane.acquire(ticket: 1, giveUpAt: far, now: begin) == nil)
    #expect(lane.acquire(ticket: 2, giveUpAt: far, now: begin) == nil)
    #expect(lane.advance(now: begin + .milliseconds(50)).isEmpty)
    #expect(lane.advance(now: begin + .milliseconds(100)).map(\.ticket) == [1])
    #expect(lane.advance(now: begin + .milliseconds(150)).isEmpty)
    #expect(lane.advance(now: begin + .seconds(100)).map(\.ticket) == [2])
    // After the pause no more than the burst.
    _ = try grant(&lane, at: begin + .seconds(100))
    #expect(lane.acquire(ticket: nil, giveUpAt: far, now: begin + .seconds(100)) == nil)
  }

  @Test func `An unused slot gives its token back`() throws {
    var lane = lane(rate: LaneRate(perSecond: 0.001, burst: 1))
    let unused = try grant(&lane)
    _ = lane.finish(unused, .unused, now: begin, jitter: 0)
    let used = try grant(&lane)
    _ = lane.finish(used, .answered, now: begin, jitter: 0)
    #expect(lane.acquire(ticket: nil, giveUpAt: far, now: begin) == nil)
  }

  @Test func `Lane down ends waits and keeps jobs away until the probe`() throws {
    var lane = lane(concurrency: 1)
    let call = try grant(&lane)
    #expect(lane.acquire(ticket: 7, giveUpAt: far, now: begin) == nil)
    let until = begin + .milliseconds(500)
    #expect(
      lane.finish(call, .down(outage), now: begin, jitter: 0) == [.init(ticket: 7, answer: .down(outage, until: until))]
    )
    #expect(lane.acquire(ticket: nil, giveUpAt: far, now: begin) == .down(outage, until: until))
    #expect(lane.isDown && !lane.isUp && lane.downSince == begin && lane.reason == outage)
    let early = lane.startProbeIfDue(now: until - .milliseconds(1))
    let due = lane.startProbeIfDue(now: until)
    let again = lane.startProbeIfDue(now: until)
    #expect(!early && due && !again)
  }

  @Test func `A probe that succeeds brings it up`() throws {
    var lane = try downLane()
    _ = lane.startProbeIfDue(now: begin + .seconds(1))
    _ = lane.probed(.up, now: begin + .seconds(1), jitter: 0)
    #expect(lane.isUp && lane.downSince == nil)
    _ = try grant(&lane, at: begin + .seconds(1))
  }

  @Test func `Back off doubles to its ceiling and starts anew after up`() throws {
    var lane = lane(probe: .seconds(1) ... .seconds(4))
    let call = try grant(&lane)
    _ = lane.finish(call, .down(outage), now: begin, jitter: 0.999_999)
    var now = begin
    for expected in [1000, 2000, 4000, 4000] {
      guard case .down(_, let probeAt) = lane.condition else { throw Missing.grant }
      let delay = (probeAt - now).wholeMilliseconds
      #expect(delay <= Int64(expected) && delay >= Int64(expected) - 2)
      now = probeAt
      _ = lane.startProbeIfDue(now: now)
      _ = lane.probed(.down(outage), now: now, jitter: 0.999_999)
    }
    _ = lane.startProbeIfDue(now: now + .seconds(5))
    _ = lane.probed(.up, now: now, jitter: 0)
    let next = try grant(&lane, at: now)
    _ = lane.finish(next, .down(outage), now: now, jitter: 0)
    #expect(lane.condition == .down(outage, probeAt: now + .milliseconds(500)))
  }

  @Test func `One job is the trial when the provider cannot tell`() throws {
    let later = begin + .seconds(1)
    var lane = try lane(untoldAt: later)
    #expect(!lane.isDown)
    let trial = try grant(&lane, at: later)
    #expect(trial.isTrial)
    #expect(lane.acquire(ticket: 1, giveUpAt: far, now: later) == nil)
    #expect(lane.acquire(ticket: 2, giveUpAt: far, now: later) == nil)
    let resumed = lane.finish(trial, .answered, now: later, jitter: 0)
    #expect(resumed.map(\.ticket) == [1, 2])
    #expect(lane.isUp)
  }

  @Test func `A trial that fails takes it down again`() throws {
    let later = begin + .seconds(1)
    var lane = try lane(untoldAt: later)
    let trial = try grant(&lane, at: later)
    #expect(lane.acquire(ticket: 1, giveUpAt: far, now: later) == nil)
    let resumed = lane.finish(trial, .failed(outage), now: later, jitter: 0)
    #expect(resumed == [.init(ticket: 1, answer: .down(outage, until: later + .seconds(1)))])
    #expect(lane.downSince == begin)
  }

  @Test func `A trial that made no call passes to the next job`() throws {
    var lane = try lane(untoldAt: begin)
    let trial = try grant(&lane)
    #expect(lane.acquire(ticket: 1, giveUpAt: far, now: begin) == nil)
    let resumed = lane.finish(trial, .unused, now: begin, jitter: 0)
    #expect(resumed == [.init(ticket: 1, answer: .granted(SlotGrant(epoch: trial.epoch, isTrial: true)))])
  }

  @Test func `Failures in a row open the breaker and an answer resets it`() throws {
    var lane = lane(concurrency: 5, threshold: 3)
    for report in [CallReport.failed(outage), .failed(outage), .answered, .failed(outage), .failed(outage)] {
      let call = try grant(&lane)
      _ = lane.finish(call, report, now: begin, jitter: 0)
    }
    #expect(lane.isUp)
    let call = try grant(&lane)
    _ = lane.finish(call, .failed(outage), now: begin, jitter: 0)
    #expect(lane.isDown)
  }

  /// Many numbers in a row that an account may not send to say nothing against the account.
  @Test func `An answer for another lane counts as an answer`() {
    #expect(CallReport(.otherLane(outage)) == .answered)
    #expect(CallReport(.retry(outage)) == .failed(outage))
  }

  @Test func `Threshold zero never opens the breaker`() throws {
    var lane = lane(threshold: 0)
    for _ in 0..<100 {
      let call = try grant(&lane)
      _ = lane.finish(call, .failed(outage), now: begin, jitter: 0)
    }
    #expect(lane.isUp)
  }

  @Test func `Calls of an earlier up time are no news`() throws {
    var lane = lane(concurrency: 3)
    let first = try grant(&lane)
    let second = try grant(&lane)
    let third = try grant(&lane)
    _ = lane.finish(first, .down(outage), now: begin, jitter: 0)
    let condition = lane.condition
    // The others report the same outage, or a late success: neither moves the probe.
    _ = lane.finish(second, .down(outage), now: begin + .seconds(1), jitter: 0)
    _ = lane.finish(third, .answered, now: begin + .seconds(1), jitter: 0)
    #expect(lane.condition == condition)
    #expect(lane.inFlight == 0)
  }
}
