import Testing

@testable import CountersignAMQP

struct MessageLimitsTests {
  private let long = String(repeating: "x", count: 256)

  private func isRefused(_ change: (inout Publication) -> Void) -> Bool {
    var publication = Publication(message: Message(body: [1, 2, 3]), exchange: "e", routingKey: "k")
    change(&publication)
    do {
      try WireLimits.check(publication, maxBodyBytes: 4)
      return false
    } catch {
      #expect(error.code == .tooLarge)
      return true
    }
  }

  @Test func `Short strings have255 bytes`() {
    #expect(!isRefused { $0.message.messageID = String(repeating: "x", count: 255) })
    #expect(isRefused { $0.message.messageID = String(repeating: "é", count: 128) })
    #expect(isRefused { $0.exchange = long })
    #expect(isRefused { $0.routingKey = long })
    #expect(isRefused { $0.message.contentType = long })
    #expect(isRefused { $0.message.contentEncoding = long })
    #expect(isRefused { $0.message.correlationID = long })
    #expect(isRefused { $0.message.replyTo = long })
    #expect(isRefused { $0.message.expiration = long })
    #expect(isRefused { $0.message.messageID = long })
    #expect(isRefused { $0.message.type = long })
    #expect(isRefused { $0.message.userID = long })
    #expect(isRefused { $0.message.appID = long })
    #expect(isRefused { $0.message.headers = [long: 1] })
    #expect(isRefused { $0.message.headers = ["a": .table([long: 1])] })
  }

  @Test func `The body has its limit`() {
    #expect(!isRefused { $0.message.body = [1, 2, 3, 4] })
    #expect(isRefused { $0.message.body = [1, 2, 3, 4, 5] })
  }

  @Test func `Headers fit into one frame and are not nested forever`() {
    #expect(!isRefused { $0.message.headers = ["a": .string(String(repeating: "x", count: 65_000))] })
    #expect(isRefused { $0.message.headers = ["a": .string(String(repeating: "x", count: 66_000))] })
    #expect(isRefused { $0.message.headers = ["a": .bytes([UInt8](repeating: 0, count: 66_000))] })
    var deep = FieldValue.int(1)
    for _ in 0..<WireLimits.maxDepth { deep = .array([deep]) }
    #expect(isRefused { $0.message.headers = ["a": deep] })
    #expect(Message(headers: ["a": deep]).headerBytes == nil)
    #expect(Message(headers: [long: 1]).headerBytes == nil)
    #expect(Message(headers: ["a": 1]).headerBytes == 16)
    #expect(Message().headerBytes == 0)
  }
}
