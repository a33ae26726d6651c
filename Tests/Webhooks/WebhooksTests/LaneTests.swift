import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import Testing

@testable import Webhooks

@Suite struct LaneTests {
  private let now = UnixTime(seconds: 1_782_907_200)

  @Test func `Events leave in the order they came, one at a time`() {
    var lane = Lane()
    #expect((0..<3).map { _ in lane.append(at: now) } == [0, 1, 2])
    #expect(lane.dueAt == now)
    for number in 0..<3 {
      #expect(lane.take(as: "c\(number)", at: now) == number)
      #expect(lane.dueAt == now + Lane.claimTime)
      #expect(lane.isHeld(by: "c\(number)", number) && !lane.isHeld(by: "other", number))
      lane.pass(number, at: now)
      #expect(!lane.isHeld(by: "c\(number)", number))
    }
    #expect(lane.dueAt == nil)
  }

  @Test func `A new event behind one that is on its way, or put off, brings nothing forward`() {
    var lane = Lane()
    _ = lane.append(at: now)
    lane.fail(at: now)
    _ = lane.append(at: now)
    #expect(lane.dueAt == now + .seconds(5))
  }

  @Test func `Failures are repeated later and later, and a success begins anew`() {
    var lane = Lane()
    _ = (lane.append(at: now), lane.append(at: now))
    var pauses: [Duration] = []
    for attempt in 0..<7 {
      _ = lane.take(as: "c\(attempt)", at: now)
      lane.fail(at: now)
      pauses.append((lane.dueAt ?? now) - now)
    }
    #expect(pauses == [5, 30, 120, 600, 3_600, 3_600, 3_600].map { Duration.seconds($0) })
    lane.pass(0, at: now)
    #expect(lane.attempts == 0 && lane.dueAt == now)
  }

  @Test func `A claim that another one has followed settles nothing`() {
    var lane = Lane()
    _ = lane.append(at: now)
    _ = lane.take(as: "frozen", at: now)
    _ = lane.take(as: "second", at: now + Lane.claimTime)
    #expect(!lane.isHeld(by: "frozen", 0) && lane.isHeld(by: "second", 0))
  }

  @Test func `Only the first event is passed, and numbers are never used again`() {
    var lane = Lane()
    lane.pass(0, at: now)
    #expect(lane.append(at: now) == 0)
    lane.pass(1, at: now)
    #expect(lane.head == 0)
    lane.pass(0, at: now)
    #expect(lane.append(at: now) == 1)
  }
}

@Suite struct PaceTests {
  private let start = MonotonicTime(nanoseconds: 0)

  @Test func `A server that answers has many requests at a time`() {
    var pace = Pace()
    #expect(pace.room(of: 4, at: start) == 4)
    pace.begin(3)
    #expect(pace.room(of: 4, at: start) == 1)
    pace.end(.delivered, at: start)
    #expect(pace.room(of: 4, at: start) == 2)
  }

  @Test func `A server that is down is asked now and then, and a success opens it`() {
    var pace = Pace()
    pace.begin(Pace.tolerance)
    for _ in 0..<Pace.tolerance { pace.end(.unreachable("down"), at: start) }
    #expect(pace.isDown && pace.room(of: 4, at: start) == 0)
    #expect(pace.room(of: 4, at: start + .seconds(5)) == 1)
    pace.begin(1)
    #expect(pace.room(of: 4, at: start + .seconds(60)) == 0)
    pace.end(.refused(status: 503), at: start + .seconds(5))
    #expect(pace.room(of: 4, at: start + .seconds(14)) == 0)
    #expect(pace.room(of: 4, at: start + .seconds(15)) == 1)
    for _ in 0..<20 {
      pace.begin(1)
      pace.end(.refused(status: 503), at: start)
    }
    #expect(pace.room(of: 4, at: start + .seconds(299)) == 0)
    #expect(pace.room(of: 4, at: start + .seconds(300)) == 1)
    pace.begin(1)
    pace.end(.delivered, at: start)
    #expect(!pace.isDown && pace.room(of: 4, at: start) == 4)
  }

  @Test func `Requests that fail together are one failure of a server that is down`() {
    var pace = Pace()
    pace.begin(64)
    for _ in 0..<64 { pace.end(.unreachable("reset"), at: start) }
    #expect(pace.room(of: 64, at: start + .seconds(4)) == 0)
    #expect(pace.room(of: 64, at: start + .seconds(5)) == 1)
  }

  @Test func `Requests that were not tried are no failures, and the next ones begin a second later`() {
    var pace = Pace()
    pace.begin(20)
    for _ in 0..<20 { pace.end(.skipped, at: start) }
    #expect(!pace.isDown && pace.room(of: 4, at: start) == 0)
    #expect(pace.room(of: 4, at: start + .seconds(1)) == 4)
  }
}

@Suite struct EventPatternTests {
  @Test(
    arguments: [
      ("verification.approved", ["verification.approved"]),
      ("account.*", ["account.created", "account.signIn"]),
      ("*", ["verification.approved", "account.created", "account.signIn", "accounts.created"]),
    ])
  func `Patterns take a type, a family or all`(pattern: String, expected: [String]) throws {
    let pattern = try #require(EventPattern(pattern))
    let types = ["verification.approved", "account.created", "account.signIn", "accounts.created"]
    #expect(types.filter { pattern.matches(MessageType($0)) } == expected)
  }

  @Test(arguments: ["", ".", "account", "account.", "*.created", "account.*.x", "account.**", "a b.c", "#", "é.*"])
  func `Others are refused`(pattern: String) { #expect(EventPattern(pattern) == nil) }
}

@Suite struct WebhookRequestTests {
  /// The example of the specification's reference libraries.
  @Test func `Signatures are those of Standard Webhooks`() throws {
    let secret = try #require(Base64.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    #expect(
      WebhookRequest.signature(
        of: Array(#"{"test": 2432232314}"#.utf8), id: "msg_p5jXN8AQM9LWM0D4loKWxJek", at: 1_614_265_330, secret: secret)
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    #expect(WebhookSecrets.text(secret).reveal() == "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
  }

  @Test func `IDs have no dots, and tell senders apart`() {
    let id = QueuedEvent.id(of: "v1.expired", from: "coordinator")
    #expect(!id.contains(".") && id != QueuedEvent.id(of: "v1.expired", from: "accounts"))
  }

  @Test func `Answers of the class 2xx are deliveries, and 410 is the end`() {
    #expect([200, 204, 299].allSatisfy { Outcome($0) == .delivered })
    #expect(Outcome(410) == .gone)
    #expect([301, 308, 400, 404, 500, 503].allSatisfy { Outcome($0) == .refused(status: $0) })
  }

  @Test(
    arguments: [
      ("https://example.com/a?b=c", true), ("https://[2606:4700::1]:8443/", true), ("http://127.0.0.1:9000/", true),
      ("http://example.com/", false), ("https://user@example.com/", false), ("https://example.com/#a", false),
      ("ftp://example.com/", false), ("https:///", false), ("https://example.com/ a", false),
      ("https://10.0.0.5/", false), ("https://[::1]/", false),
    ])
  func `Addresses are https, and http on this machine where it is open`(url: String, isAllowed: Bool) {
    var rules = WebhookRules()
    #expect(rules.mayCall(url) == (isAllowed && !url.hasPrefix("http:")))
    rules.allowed.networks = [AddressRange("127.0.0.0/8")].compactMap(\.self)
    #expect(rules.mayCall(url) == isAllowed)
  }
}
