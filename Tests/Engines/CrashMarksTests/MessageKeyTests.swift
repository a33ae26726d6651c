import CountersignAMQP
import Testing

@testable import CrashMarks

@Suite struct MessageKeyTests {
  private static let message = {
    var message = Message(
      headers: ["a": 1, "b": .table(["c": "d", "e": .array([true, .null])])], messageID: "m", body: [1, 2])
    message.contentType = "application/json"
    return message
  }()

  private static func key(_ change: (inout Message) -> Void = { _ in }, queue: String = "q") -> MessageKey {
    var message = message
    change(&message)
    return MessageKey(Delivery(message: message), queue: queue)
  }

  @Test(
    arguments: ["x-delivery-count", "x-acquired-count", "x-death", "x-first-death-queue", "x-last-death-reason"])
  func `Counters of the broker do not change the key`(header: String) {
    #expect(Self.key { $0.headers[header] = 3 } == Self.key())
  }

  @Test func `Everything else does`() {
    let changed = [
      Self.key(), Self.key(queue: "r"), Self.key { $0.body = [1, 3] }, Self.key { $0.messageID = "n" },
      Self.key { $0.messageID = nil }, Self.key { $0.messageID = "" }, Self.key { $0.headers["x-attempt"] = 2 },
      Self.key { $0.headers["b"] = .table(["c": "d", "e": .array([.null, true])]) },
      Self.key { $0.headers["b"] = .table(["c": "de"]) }, Self.key { $0.isPersistent = false },
      Self.key { $0.timestamp = 1 }, Self.key { $0.priority = 1 }, Self.key { $0.replyTo = "m" },
      Self.key { $0.expiration = "1" },
    ]
    #expect(Set(changed).count == changed.count)
  }
}
