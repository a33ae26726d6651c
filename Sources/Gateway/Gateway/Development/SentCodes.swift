import CountersignMessages
import CountersignTelemetry
import Projects
import Synchronization

/// Sessions that phone numbers got, in development mode only: `…/verificationCodes` shows them with their codes.
final class SentCodes: Sendable {
  /// The oldest sessions are forgotten.
  static let maxSessions = 1_000

  struct Session: Sendable, Hashable {
    var project: String
    var app: String
    var purpose: VerificationPurpose
    /// E.164. Of a second factor to sign in with masked: `+*******0100`.
    var phoneNumber: String
    var sessionInfo: String
    var codeLength: Int
    var since: UnixTime
    var expiresAt: UnixTime
  }

  /// Oldest first.
  private let sessions = Mutex<[Session]>([])

  /// Fictional numbers get no SMS.
  func remember(
    _ started: VerificationStarted, for purpose: VerificationPurpose, of project: Project, askedAt: UnixTime
  ) {
    guard !started.testNumber else { return }
    remember(
      Session(
        project: project.id, app: started.app, purpose: purpose, phoneNumber: started.phoneNumber,
        sessionInfo: started.verificationID, codeLength: started.codeLength, since: askedAt,
        expiresAt: started.expiresAt),
      at: askedAt)
  }

  /// Remembers the session of a number. Its earlier ones are forgotten. A live one of the same app and purpose had the
  /// same code, so its SMS counts for this one too.
  func remember(_ session: Session, at now: UnixTime) {
    sessions.withLock { sessions in
      var session = session
      if let index = sessions.firstIndex(where: { $0.concerns(session) }) {
        let earlier = sessions.remove(at: index)
        if earlier.app == session.app, earlier.purpose == session.purpose, earlier.expiresAt > now {
          session.since = min(session.since, earlier.since)
        }
      }
      sessions.append(session)
      if sessions.count > Self.maxSessions { sessions.removeFirst(sessions.count - Self.maxSessions) }
    }
  }

  func forget(sessionInfo: String, project: String) {
    sessions.withLock { $0.removeAll { $0.sessionInfo == sessionInfo && $0.project == project } }
  }

  func forgetAll(of project: String) {
    sessions.withLock { $0.removeAll { $0.project == project } }
  }

  /// Oldest first.
  func live(of project: String, at now: UnixTime) -> [Session] {
    sessions.withLock { $0.filter { $0.project == project && $0.expiresAt > now } }
  }
}

extension SentCodes.Session {
  fileprivate func concerns(_ other: Self) -> Bool {
    project == other.project && phoneNumber == other.phoneNumber
  }
}

struct SentMessage: Sendable, Hashable, Decodable {
  var to: String
  var body: String
  var receivedAt: UnixTime

  func code(digits: Int) -> String? {
    body.split { !("0"..."9").contains($0) }.last { $0.count == digits }.map(String.init)
  }
}

extension SentCodes.Session {
  /// The session with its number in full, and the code of its newest SMS.
  func sent(in messages: [SentMessage]) -> (SentCodes.Session, code: String)? {
    guard let message = messages.last(where: { isFor($0.to) && $0.receivedAt >= since }),
      let code = message.code(digits: codeLength)
    else { return nil }
    var session = self
    session.phoneNumber = message.to
    return (session, code)
  }

  private func isFor(_ number: String) -> Bool {
    number.utf8.count == phoneNumber.utf8.count
      && zip(number.utf8, phoneNumber.utf8).allSatisfy { $0 == $1 || $1 == UInt8(ascii: "*") }
  }
}
