import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// A notification of Apple, verified ("Processing changes for Sign in with Apple accounts", developer.apple.com).
struct AppleNotice: Sendable {
  /// Apple sends one; a list is taken, too.
  static let maxEvents = 16
  private static let maxKindBytes = 64

  struct Event: Sendable {
    /// `email-disabled`, `email-enabled`, `consent-revoked`, `account-deleted`, or a word that is not known yet.
    let kind: String
    /// Apple's ID of the user.
    let subject: String
    /// Time at Apple, and never one that is yet to come.
    let happenedAt: UnixTime
    /// Address that the event is about.
    let email: String?

    /// Whether the user has taken back what apps were allowed.
    var endsConsent: Bool { kind == Kind.consentRevoked || kind == Kind.accountDeleted }
  }

  /// Hash of its ID: it counts once.
  let once: SpentCredential
  let events: [Event]

  /// - Throws: `INVALID_IDP_RESPONSE` for claims that are not those of a notification.
  init(_ claims: ProviderClaims, at now: UnixTime) throws(APIError) {
    guard let id = claims.text("jti") else { throw .invalidNotice("it has no ID (jti)") }
    guard let end = ProviderTokens.end(of: claims) else { throw .invalidNotice("it has no times") }
    once = SpentCredential(value: ["notice", id], until: end)
    var events: [Event] = []
    for members in try Self.members(claims["events"]) { events.append(try Self.event(members, at: now)) }
    self.events = events
  }

  /// JSON as text, of an object or a list of objects.
  private static func members(_ value: JSONValue?) throws(APIError) -> [[String: JSONValue]] {
    var parsed = value
    if let text = value?.text {
      do throws(JSONRefusal) {
        parsed = try JSONReader(maxBytes: ProviderTokens.maxBytes).value(of: Array(text.utf8))
      } catch {
        parsed = nil
      }
    }
    let objects: [JSONValue] = if case .array(let values)? = parsed { values } else { parsed.map { [$0] } ?? [] }
    let members = objects.compactMap(\.members)
    guard (1...maxEvents).contains(objects.count), members.count == objects.count else {
      throw .invalidNotice("its events are not the JSON of 1 to \(maxEvents) objects")
    }
    return members
  }

  private static func event(_ members: [String: JSONValue], at now: UnixTime) throws(APIError) -> Event {
    let event = ProviderClaims(members)
    guard let kind = event.text("type"), kind.utf8.count <= maxKindBytes,
      let subject = event.text("sub"), subject.utf8.count <= ProvenIdentity.maxSubjectBytes
    else { throw .invalidNotice("an event has no type, or no subject") }
    guard let time = event["event_time"], let milliseconds = time.wholeNumber ?? time.text.flatMap({ Int($0) }),
      milliseconds >= 0
    else { throw .invalidNotice("an event has no time") }
    return Event(
      kind: kind == formerDeletion ? Kind.accountDeleted : kind, subject: subject,
      happenedAt: min(UnixTime(milliseconds: Int64(milliseconds)), now), email: event.text("email"))
  }

  /// Name that Apple gave the deletion of an account earlier.
  private static let formerDeletion = "account-delete"

  enum Kind {
    static let emailDisabled = "email-disabled"
    static let emailEnabled = "email-enabled"
    static let consentRevoked = "consent-revoked"
    static let accountDeleted = "account-deleted"
  }
}

/// Identity provider that tells of its users by itself.
protocol NoticeProvider: IdentityProvider {
  /// Verifies a notification. Suspends while keys are fetched, so it runs in the stage of a command.
  ///
  /// - Throws: `INVALID_IDP_RESPONSE`, or `INTERNAL_ERROR` with a time to try again.
  func notice(_ payload: Secret, for project: Project, at now: UnixTime) async throws(APIError) -> AppleNotice
}

extension SignInWithApple: NoticeProvider {
  /// The signature is all that vouches for it: what test suites write unsigned is never taken.
  func notice(_ payload: Secret, for project: Project, at now: UnixTime) async throws(APIError) -> AppleNotice {
    let claims: ProviderClaims
    do throws(APIError) {
      claims = try await tokens.verifySigned(payload.reveal(), of: project.clientIDs(of: id), at: now)
    } catch {
      guard error.code == .invalidIDPResponse else { throw error }
      throw .invalidNotice(error.message.replacing("the ID token", with: "it"))
    }
    return try AppleNotice(claims, at: now)
  }
}

extension APIError {
  /// - Parameter reason: holds nothing of the notification.
  static func invalidNotice(_ reason: String) -> APIError {
    APIError(.invalidIDPResponse, "the notification is refused: \(reason)", field: "payload")
  }
}
