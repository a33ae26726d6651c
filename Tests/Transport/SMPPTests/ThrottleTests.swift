import Testing

@testable import SMPP

@Suite("Slowing down, backing off")
struct ThrottleTests {
  private let start = Sample.start

  @Test("Each request halves the window and doubles the pause; answers bring both back")
  func throttle() {
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

  @Test("Pauses stay short as long as something is taken between them")
  func shortPauses() {
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

  @Test("Waits between attempts double up to a bound, with jitter; after a refusal they have a floor")
  func backoff() {
    var backoff = Backoff()
    let error = SMPPError(.notConnected, "x")
    let waits = (0..<8).map { _ in backoff.next(after: error, random: 0.5) }
    #expect(waits == [250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000].map { .milliseconds($0) })
    let floor = backoff.next(after: error, random: 0)
    #expect(floor == Backoff.floor)
    backoff.sessionEnded(after: .seconds(9))
    let long = backoff.next(after: error, random: 0.5)
    #expect(long == .seconds(15))
    backoff.sessionEnded(after: .seconds(10))
    let refused = backoff.next(after: SMPPError(.bindRefused(.invalidPassword), "x"), random: 0)
    #expect(refused == .seconds(5))
  }

  @Test("The waiting line keeps its order, also when some are taken out")
  func waitingLine() {
    var line = WaitingLine()
    for ticket in 1...600 as ClosedRange<UInt64> { line.append(Sample.submission(ticket)) }
    for ticket in 1...300 as ClosedRange<UInt64> {
      let first = line.popFirst()
      #expect(first?.ticket == ticket)
    }
    let removed = line.remove { $0.ticket.isMultiple(of: 2) }
    #expect(removed.map(\.ticket) == Array(stride(from: 302, through: 600, by: 2)))
    #expect(line.count == 150)
    let first = line.popFirst()
    #expect(first?.ticket == 301)
  }

  @Test("Which messages surely did not leave")
  func unsent() {
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

  @Test("Old message IDs are forgotten")
  func recent() {
    var recent = RecentIDs()
    for number in 0...RecentIDs.capacity { recent.insert(String(number), MessageOrigin(id: "job-\(number)")) }
    #expect(!recent.contains("0"))
    #expect(recent.contains("1"))
    #expect(recent.contains(String(RecentIDs.capacity)))
    #expect(recent.origin(of: "0") == nil)
    #expect(recent.origin(of: "7") == MessageOrigin(id: "job-7"))
  }
}
