import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import Testing

@testable import Accounts

@Suite("Payloads of Apple's notifications") struct AppleNoticePayloadTests {
  private static let event: JSONValue = ["type": "consent-revoked", "sub": "001234.abc.0001", "event_time": 1]
  let bench: ProviderBench

  init() throws {
    bench = try ProviderBench()
    bench.publish()
  }

  private func payload(_ changes: [String: JSONValue] = [:], key: SigningKey? = nil) throws -> String {
    try bench.token(
      [
        "iss": "https://appleid.apple.com", "aud": "com.example.app", "jti": "j1", "iat": .integer(bench.seconds),
        "exp": .integer(bench.seconds + 86_400), "events": .text(Self.event.json()),
      ], changes, key: key)
  }

  private func result(
    _ payload: String, for project: Project = ProviderBench.project, isDevelopment: Bool = false
  ) async -> Result<AppleNotice, APIError> {
    let apple: any NoticeProvider = ProviderBench.apple(bench.context(isDevelopment: isDevelopment))
    do throws(APIError) {
      return .success(try await apple.notice(Secret(payload), for: project, at: bench.now))
    } catch {
      return .failure(error)
    }
  }

  private func refusal(_ payload: String) async -> String? {
    guard case .failure(let error) = await result(payload) else { return nil }
    #expect(error.code == .invalidIDPResponse)
    return error.message
  }

  @Test func `Events are JSON as text, of an object or a list, with times in milliseconds`() async throws {
    let time: JSONValue = .integer(bench.now.milliseconds - 1234)
    let one: JSONValue = [
      "type": "email-disabled", "sub": "s", "event_time": time, "email": "a@b.c", "is_private_email": "true",
    ]
    for events: JSONValue in [.text(one.json()), .text(JSONValue.array([one]).json()), one] {
      let notice = try await result(payload(["events": events])).get()
      let event = try #require(notice.events.first)
      #expect(notice.events.count == 1 && event.kind == "email-disabled" && event.subject == "s")
      #expect(event.happenedAt == bench.now - .milliseconds(1234) && event.email == "a@b.c")
      #expect(notice.once.until == bench.now + .seconds(86_400 + 300))
    }
    let two = try await result(payload(["events": .text(JSONValue.array([one, Self.event]).json())])).get()
    #expect(two.events.map(\.kind) == ["email-disabled", "consent-revoked"])
  }

  @Test func `Only Apple's signature, to an app of the project, in time, is taken`() async throws {
    #expect(try await refusal(payload()) == nil)
    #expect(try await refusal(payload(["iss": "https://account.apple.com"])) == nil)
    let foreign = try SigningKey.generateRSA(id: "key-1")
    let wrong: [(String, String)] = [
      (try payload(key: foreign), "signature"),
      (try payload(["aud": "com.example.foreign"]), "audience"), (try payload(["aud": .null]), "audience"),
      (try payload(["iss": "https://accounts.google.com"]), "issuer"),
      (try payload(["exp": .integer(bench.seconds - 300)]), "expired"),
      (try payload(["iat": .integer(bench.seconds + 301)]), "not valid yet"),
      (try payload(["jti": .null]), "jti"), (try payload(["events": .null]), "events"),
      (try payload(["events": "no JSON"]), "events"), (try payload(["events": "[1]"]), "events"),
      (try payload(["events": #"{"type":"consent-revoked","event_time":1}"#]), "subject"),
      (try payload(["events": #"{"type":"consent-revoked","sub":"s"}"#]), "time"),
      (try payload(["x": .text(String(repeating: "x", count: 16_384))]), "too long"),
      // An ID token has the same key, issuer and audience.
      (try bench.appleToken(["jti": "j2"]), "events"),
    ]
    for (payload, reason) in wrong {
      let message = await refusal(payload)
      #expect(message?.contains(reason) == true && message?.contains("ID token") == false, "\(reason)")
    }
  }

  @Test func `One without a signature is never taken, not even in development`() async throws {
    var project = ProviderBench.project
    project.emulatorTokens = true
    let claims: JSONValue = ["jti": "j1", "iat": 1, "exp": 2, "events": .text(Self.event.json())]
    for payload in [claims.json(), ProviderBench.forged(header: ["alg": "none"], claims, signature: [])] {
      guard case .failure(let error) = await result(payload, for: project, isDevelopment: true) else {
        Issue.record("an unsigned notification was taken")
        continue
      }
      #expect(error.code == .invalidIDPResponse)
    }
  }
}
