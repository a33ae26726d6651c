import CountersignEncoding
import CountersignMessages
import ServiceRuntime
import Synchronization
import Testing

@testable import CommandLine

@Suite("countersign webhook") struct WebhookCommandTests {
  private static let listed: JSONValue = [
    "webhooks": [
      [
        "id": "wh1", "url": "https://example.com/events", "events": ["account.*"], "state": "gone", "waiting": 7,
        "createdAt": "2026-07-01T12:00:00Z", "failingSince": "2026-07-01T13:00:00Z",
      ]
    ]
  ]

  @Test func `The list shows states and what waits`() async throws {
    let backend = FakeBackend(reply: .success(Self.listed))
    let ran = await Run(backend, "webhook", "list")
    #expect(ran.output.contains("wh1") && ran.output.contains("gone, fails since 2026-07-01T13:00:00Z"))
    #expect(ran.output.contains("https://example.com/events"))
    #expect(backend.noted.withLock { $0 }.isEmpty)
  }

  @Test(arguments: [["enable", "wh1"], ["remove", "wh1"], ["replay", "wh1", "--since", "2026-07-01T12:00:00Z"]])
  func `Changes are noted before they are made`(words: [String]) async throws {
    let backend = FakeBackend(reply: .success(Self.listed))
    let ran = await Run(backend, arguments: ["webhook"] + words)
    #expect(ran.code == .success, "\(ran.error)")
    #expect(backend.noted.withLock { $0 } == [NoteAct(act: "webhook.\(words[0])", subject: "wh1")])
    #expect(backend.sent.withLock { $0 }.contains { $0.hasPrefix("webhook.\(words[0]).v1") })
  }

  @Test(
    arguments: [
      ["add", "https://example.com/"], ["replay", "wh1"], ["replay", "wh1", "--since", "yesterday"],
    ])
  func `What is missing or wrong is said, and nothing is sent`(words: [String]) async throws {
    let backend = FakeBackend()
    let ran = await Run(backend, arguments: ["webhook"] + words)
    #expect(ran.code == .usage || ran.code == .badInput)
    #expect(backend.sent.withLock { $0 }.isEmpty && backend.noted.withLock { $0 }.isEmpty)
  }
}
