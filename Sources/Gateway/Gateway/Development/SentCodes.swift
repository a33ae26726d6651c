import CountersignTelemetry
import Synchronization

/// Sessions that phone numbers got, in development mode only: `…/verificationCodes` shows them with their codes.
final class SentCodes: Sendable {
  /// The oldest sessions are forgotten.
  static let maxSessions = 1_000

  struct Session: Sendable, Hashable {
    var project: String
    var app: String
    /// E.164.
    var phoneNumber: String
    var sessionInfo: String
    var codeLength: Int
    var since: UnixTime
    var expiresAt: UnixTime
  }

  /// Oldest first.
  private let sessions = Mutex<[Session]>([])

  /// Remembers the session of a number. Its earlier ones are forgotten. A live one of the same app had the same code,
  /// so its SMS counts for this one too.
  func remember(_ session: Session, at now: UnixTime) {
    sessions.withLock { sessions in
      var session = session
      if let index = sessions.firstIndex(where: { $0.concerns(session) }) {
        let earlier = sessions.remove(at: index)
        if earlier.app == session.app, earlier.expiresAt > now { session.since = min(session.since, earlier.since) }
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
  func code(in messages: [SentMessage]) -> String? {
    messages.last { $0.to == phoneNumber && $0.receivedAt >= since }?.code(digits: codeLength)
  }
}
