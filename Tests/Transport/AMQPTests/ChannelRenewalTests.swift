import Testing

@testable import CountersignAMQP

private final class RefusingChannel {
  let start = ContinuousClock.now
  var renewal = ChannelRenewal()

  func refuse(_ routingKey: String = "jobs", at seconds: Double) {
    renewal.record(
      ChannelRenewal.Target(publication(routingKey)), isAck: false, isReturned: false, now: start + .seconds(seconds))
  }

  func confirm(_ routingKey: String, isReturned: Bool = false) {
    renewal.record(ChannelRenewal.Target(publication(routingKey)), isAck: true, isReturned: isReturned, now: start)
  }

  func renews(at seconds: Double, isAnswered: Bool = true) -> Bool {
    guard renewal.take(isAnswered: isAnswered, now: start + .seconds(seconds)) else { return false }
    renewal.recordOpening()
    return true
  }

  func isHeld(at seconds: Double) -> Bool { renewal.holds(now: start + .seconds(seconds)) }

  private func publication(_ routingKey: String) -> Publication {
    Publication(message: Message(messageID: "1"), exchange: "exchange", routingKey: routingKey)
  }
}

struct ChannelRenewalTests {
  @Test func `A channel that refuses nothing stays`() {
    let channel = RefusingChannel()
    channel.confirm("jobs")
    #expect(!channel.renews(at: 3600) && !channel.isHeld(at: 3600) && channel.renewal.due(now: channel.start) == nil)
  }

  @Test func `The first refusal suffices, the next ones wait, and are not forgotten however late they are looked at`() {
    let channel = RefusingChannel()
    channel.refuse(at: 0)
    #expect(channel.renews(at: 0))
    #expect(!channel.renews(at: 60))
    channel.refuse(at: 0.01)
    #expect(!channel.renews(at: 0.999))
    #expect(channel.renewal.due(now: channel.start + .milliseconds(20)) == channel.start + .seconds(1))
    #expect(channel.renews(at: 5))
  }

  @Test func `A queue that is full has the channel replaced more and more rarely, at last every 30 s`() {
    let channel = RefusingChannel()
    var times: [Double] = []
    for half in 0..<250 {
      channel.refuse(at: Double(half) / 2)
      if channel.renews(at: Double(half) / 2) { times.append(Double(half) / 2) }
    }
    #expect(times == [0, 1, 3, 7, 15, 31, 61, 91, 121])
  }

  @Test func `After a long time without refusals the pauses are short again`() {
    let channel = RefusingChannel()
    for second in [0.0, 1, 3, 7, 67] {
      channel.refuse(at: second)
      #expect(channel.renews(at: second))
    }
    channel.refuse(at: 67.1)
    #expect(channel.renews(at: 68))
  }

  @Test
  func `A queue that has taken something on this channel is full, so its refusals count late; those of others at once`()
  {
    let channel = RefusingChannel()
    channel.confirm("full")
    channel.refuse("full", at: 0)
    #expect(!channel.renews(at: 29))
    channel.refuse("poisoned", at: 3)
    #expect(channel.renews(at: 3))
    // The new channel has taken nothing yet.
    channel.refuse("full", at: 4)
    #expect(channel.renews(at: 4))
    channel.confirm("full")
    channel.refuse("full", at: 5)
    #expect(!channel.renews(at: 34) && channel.renews(at: 35))
  }

  @Test func `What no queue was asked for tells nothing`() {
    let channel = RefusingChannel()
    channel.confirm("unbound", isReturned: true)
    channel.refuse("unbound", at: 0)
    #expect(channel.renews(at: 0))
  }

  @Test func `Targets are remembered up to a bound`() {
    let channel = RefusingChannel()
    channel.confirm("first")
    for number in 0..<ChannelRenewal.maxTargets { channel.confirm("\(number)") }
    channel.refuse("first", at: 0)
    #expect(channel.renews(at: 0))
  }

  @Test func `What stays unanswered holds the others up for a second in half a minute, and keeps no renewal back`() {
    let channel = RefusingChannel()
    channel.refuse(at: 0)
    #expect(!channel.renews(at: 0, isAnswered: false))
    #expect(channel.isHeld(at: 0.1))
    #expect(channel.renewal.due(now: channel.start + .milliseconds(200)) == channel.start + .milliseconds(1100))
    #expect(channel.isHeld(at: 1) && !channel.isHeld(at: 1.1) && !channel.isHeld(at: 30))
    #expect(channel.isHeld(at: 30.1) && !channel.isHeld(at: 31.1))
    #expect(channel.renews(at: 31.2))
    #expect(!channel.isHeld(at: 31.3))
  }
}
