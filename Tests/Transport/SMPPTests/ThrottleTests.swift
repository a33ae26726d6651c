import Testing

@testable import SMPP

@Suite struct ThrottleTests {
  private let start = Sample.start

  @Test func `Each request halves the window and doubles the pause; answers bring both back`() {
    var throttle = Throttle(window: 8)
    var now = start
    var pauses: [Duration] = []
    var limits: [Int] = []
    for _ in 0..<7 {
      now += .seconds(20)
      let began = throttle.asked(sentAt: now - .milliseconds(1), now: now)
      #expect(began)
      pauses.append(throttle.pause(at: now))
      limits.append(throttle.limit)
    }
    #expect(pauses == [250, 500, 1000, 2000, 4000, 8000, 8000].map { .milliseconds($0) })
    #expect(limits == [4, 2, 1, 1, 1, 1, 1])
    for _ in 0..<100 { throttle.answered(sentAt: now + .seconds(8)) }
    #expect(throttle.limit == 8)
    let began = throttle.asked(sentAt: now + .seconds(9), now: now + .seconds(9))
    #expect(began)
    #expect(throttle.pause(at: now + .seconds(9)) == Throttle.firstPause)
  }

  @Test func `Pauses stay short as long as something is taken between them`() {
    var throttle = Throttle(window: 8)
    for round in 1...5 {
      let now = start + .seconds(round)
      let began = throttle.asked(sentAt: now - .milliseconds(1), now: now)
      #expect(began)
      #expect(throttle.pause(at: now) == Throttle.firstPause)
      // What was under way before says nothing of the server's mind now.
      throttle.answered(sentAt: now - .milliseconds(1))
      throttle.answered(sentAt: now + .milliseconds(300))
    }
  }

  @Test func `Only a refused bind adds a fixed delay before the next attempt to connect`() {
    #expect(SMPPSession.baseDelay(after: SMPPError(.notConnected, "x")) == .zero)
    #expect(SMPPSession.baseDelay(after: SMPPError(.bindRefused(.invalidPassword), "x")) == .seconds(5))
  }

  @Test func `Which messages surely did not leave`() {
    var output = OutputBuffer()
    output.append([1, 2, 3], ticket: 1)
    output.append([4], ticket: nil)
    output.append([5, 6], ticket: 2)
    #expect(output.unsent == [1, 2])
    output.didWrite(1)
    #expect(output.unsent == [2])
    output.didWrite(3)
    #expect(output.unsent == [2])
    output.didWrite(2)
    #expect(output.unsent.isEmpty)
    output.append([7], ticket: 3)
    #expect(output.unsent == [3])
  }

  @Test func `Old message IDs are forgotten`() {
    var recent = RecentIDs()
    for number in 0...RecentIDs.capacity { recent.insert(String(number), MessageOrigin(id: "job-\(number)")) }
    #expect(!recent.contains("0"))
    #expect(recent.contains("1"))
    #expect(recent.contains(String(RecentIDs.capacity)))
    #expect(recent.origin(of: "0") == nil)
    #expect(recent.origin(of: "7") == MessageOrigin(id: "job-7"))
  }
}
