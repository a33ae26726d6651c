import CountersignAMQP
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

extension FakeProvider: NoticeProvider {
  /// The payload is the claims.
  func notice(_ payload: Secret, for project: Project, at now: UnixTime) async throws(APIError) -> AppleNotice {
    // A text that is not JSON is no notification.
    guard case .object(let members)? = try? JSONValue(parsing: Array(payload.reveal().utf8)) else {
      throw .invalidNotice("it is not one of \(id)")
    }
    return try AppleNotice(ProviderClaims(members), at: now)
  }
}

extension AccountsBench {
  struct Noted {
    var isRepeated: Bool?
    var error: APIError?
    /// Effects that the events tell of.
    var effects: [AppleNotified.Effect] = []
    var events: [AppleNotified] = []
  }

  /// Claims of a notification.
  func claims(
    _ kind: String, _ subject: String, at time: UnixTime? = nil, id: String? = nil, email: String? = nil
  ) -> String {
    var event: [String: JSONValue] = [
      "type": .text(kind), "sub": .text(subject), "event_time": .integer((time ?? clock.now()).milliseconds),
    ]
    event["email"] = email.map(JSONValue.text)
    return claims(.object(event), id: id)
  }

  func claims(_ events: JSONValue, id: String? = nil) -> String {
    let now = clock.now()
    let claims: JSONValue = [
      "jti": .text(id ?? nextID()), "iat": .integer(now.seconds), "exp": .integer(now.seconds + 86_400),
      "events": .text(events.json()),
    ]
    return claims.json()
  }

  /// A notification about ``subject``.
  func noting(_ kind: String, _ id: String) throws -> NoteApple {
    NoteApple(
      project: Self.project, payload: try seal(Secret(claims(kind, Self.subject)), NoteApple.self, id))
  }

  func note(_ claims: String, project: String = project) async throws -> Noted {
    let id = nextID()
    let command = NoteApple(project: project, payload: try seal(Secret(claims), NoteApple.self, id))
    let reply = try await ask(command, id: id)
    guard reply.type != ErrorReply.type.text else { return Noted(error: try ErrorReply(json: reply.body).error) }
    let events = try events("account.appleNotified").map { try AppleNotified(json: $0.message.body) }
    return Noted(
      isRepeated: try AppleNoted(json: reply.body).isRepeated, effects: events.map(\.effect), events: events)
  }

  func note(_ kind: String, _ subject: String, at time: UnixTime? = nil, email: String? = nil) async throws -> Noted {
    try await note(claims(kind, subject, at: time, email: email))
  }
}
