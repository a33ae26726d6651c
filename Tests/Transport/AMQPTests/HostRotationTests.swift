import TestSupport
import Testing

@testable import CountersignAMQP

@Suite struct HostRotationTests {
  private static let delays = ConnectionOptions.ReconnectDelay(min: .milliseconds(200), max: .seconds(15))
  private let away = AMQPError(.connectFailed, "refused")
  private let silent = AMQPError(.timedOut, "no answer")
  private let wrongPassword = AMQPError(.authenticationRefused, "wrong")
  private let options = ConnectionOptions(name: "test")

  private func hosts(_ count: Int) -> [BrokerHost] { (1...count).map { BrokerHost("h\($0)", port: 5672) } }

  private func rotation(_ count: Int, seed: UInt64 = 1) -> HostRotation {
    var generator = SplitMix(state: seed)
    return HostRotation(hosts(count), delays: Self.delays, using: &generator)
  }

  private func ceiling(_ rotation: inout HostRotation, _ error: AMQPError) -> Duration {
    rotation.failed(error, random: 0.999_999_999)
  }

  private func isAbout(_ delay: Duration, _ seconds: Double) -> Bool {
    (seconds * 0.99...seconds).contains(delay / .seconds(1))
  }

  @Test func `One host is tried again with delays that double, and the options' time`() {
    var rotation = rotation(1)
    for seconds in [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 15, 15] {
      let delay = ceiling(&rotation, away)
      #expect(isAbout(delay, seconds), "\(delay)")
      #expect(rotation.host == hosts(1)[0])
    }
    #expect(rotation.timeout(options) == nil)
  }

  @Test func `Each host is tried once a round, in the same order`() {
    var rotation = rotation(5)
    var tried: [BrokerHost] = []
    for _ in 0..<10 {
      tried.append(rotation.host)
      _ = rotation.failed(away, random: 0)
    }
    #expect(Set(tried.prefix(5)) == Set(hosts(5)))
    #expect(tried.prefix(5) == tried.suffix(5))
  }

  @Test func `A round of failures is one step of the delay, not each host`() {
    var rotation = rotation(3)
    for round in [0.2, 0.4, 0.8, 1.6] {
      for _ in 0..<2 {
        let delay = ceiling(&rotation, away)
        #expect(isAbout(delay, 0.2), "\(delay)")
      }
      let delay = ceiling(&rotation, away)
      #expect(isAbout(delay, round), "\(delay)")
    }
  }

  @Test func `No delay is zero`() {
    var rotation = rotation(3)
    for _ in 0..<7 { #expect(rotation.failed(away, random: 0) == HostRotation.minRetryDelay) }
  }

  @Test func `A stable connection starts the delays over, and its loss counts for its host`() {
    var rotation = rotation(3)
    for _ in 0..<10 { _ = rotation.failed(away, random: 0) }
    let lost = rotation.host
    rotation.loggedIn()
    rotation.ended(after: HostRotation.stableAfter)
    for _ in 0..<2 { #expect(isAbout(ceiling(&rotation, away), 0.2)) }
    #expect(rotation.host != lost)
    #expect(isAbout(ceiling(&rotation, away), 0.2))
    #expect(rotation.host == lost)
    for _ in 0..<2 { #expect(isAbout(ceiling(&rotation, away), 0.2)) }
    #expect(isAbout(ceiling(&rotation, away), 0.4))
  }

  @Test func `A connection that never lasts does not start them over`() {
    var rotation = rotation(2)
    var longest = Duration.zero
    for _ in 0..<20 {
      rotation.loggedIn()
      rotation.ended(after: .seconds(1))
      longest = max(longest, ceiling(&rotation, AMQPError(.connectionLost, "gone")))
    }
    #expect(isAbout(longest, 15))
  }

  @Test func `A dead host costs few seconds; hosts that are all slow get more time each round`() {
    var rotation = rotation(3)
    #expect(rotation.timeout(options) == .seconds(3))
    for seconds in [3, 6, 10, 10] {
      for _ in 0..<3 {
        #expect(rotation.timeout(options) == .seconds(seconds))
        _ = rotation.failed(silent, random: 0)
      }
    }
    rotation.loggedIn()
    #expect(rotation.timeout(options) == .seconds(3))
    var short = options
    short.connectTimeout = .seconds(1)
    #expect(rotation.timeout(short) == .seconds(1))
  }

  @Test func `Hosts that refuse at once get no more time, nor does a dead one beside hosts that let in`() {
    var rotation = rotation(3)
    for _ in 0..<9 { _ = rotation.failed(away, random: 0) }
    #expect(rotation.timeout(options) == .seconds(3))
    // The queue is missing, and the third host is dead.
    let dead = hosts(3)[2]
    for _ in 0..<30 {
      if rotation.host == dead {
        #expect(rotation.timeout(options) == .seconds(3))
        _ = rotation.failed(silent, random: 0)
      } else {
        rotation.loggedIn()
        _ = rotation.failed(AMQPError(.notFound, "no queue"), random: 0)
      }
    }
  }

  @Test func `A refused password is passed over, and shown until its host has been tried again`() {
    var rotation = rotation(3)
    let refusing = rotation.host
    _ = rotation.failed(wrongPassword, random: 0)
    #expect(rotation.host != refusing)
    #expect(rotation.shown(wrongPassword, at: refusing).error == wrongPassword)
    for _ in 0..<2 {
      let host = rotation.host
      _ = rotation.failed(away, random: 0)
      let shown = rotation.shown(away, at: host)
      #expect(shown.error == wrongPassword)
      #expect(shown.host == refusing)
    }
    // Now it is away as well.
    _ = rotation.failed(away, random: 0)
    #expect(rotation.shown(away, at: refusing).error == away)
  }

  @Test func `With one host the last failure is shown`() {
    var rotation = rotation(1)
    _ = rotation.failed(wrongPassword, random: 0)
    _ = rotation.failed(away, random: 0)
    #expect(rotation.shown(away, at: rotation.host).error == away)
  }

  @Test func `Connections spread over the hosts, and those of a lost host over the others`() {
    var generator = SplitMix(state: 7)
    var starts: [BrokerHost: Int] = [:]
    var seconds: [BrokerHost: Int] = [:]
    for _ in 0..<3000 {
      var rotation = HostRotation(hosts(3), delays: Self.delays, using: &generator)
      let start = rotation.host
      starts[start, default: 0] += 1
      _ = rotation.failed(away, random: 0)
      if start == hosts(3)[0] { seconds[rotation.host, default: 0] += 1 }
    }
    #expect(starts.values.allSatisfy { (900...1100).contains($0) }, "\(starts)")
    #expect(seconds.count == 2 && seconds.values.allSatisfy { (420...580).contains($0) }, "\(seconds)")
  }
}
