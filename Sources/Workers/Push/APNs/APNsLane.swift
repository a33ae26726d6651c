import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import JobEngine

/// One way to devices: one of Apple's push services with one credential.
///
/// To push the same receipt and secret twice is harmless: the device keeps one of them (`apns-collapse-id`), and the app takes either. So
/// a push without a clear answer is sent again at once, on another connection, as long as its time lasts.
struct APNsLane: Sendable {
  /// Who sends.
  enum Credential: Sendable {
    /// A token signed with the team's key.
    case tokens(ProviderTokens)
    /// The connection's own certificate.
    case certificate
  }

  /// How often one call sends a push.
  static let maxTries = 3
  /// With less time than this left it is not sent again.
  static let shortestTry: Duration = .milliseconds(200)
  /// An answer is at most some hundred bytes.
  private static let maxResponseBytes = 16 * 1024

  let name: String
  let environment: APNsEnvironment
  let baseURL: String
  let credential: Credential
  /// How long one try may take.
  let answerTimeout: Duration
  let table: ProviderTable
  let pool: ConnectionPool
  let clocks: Clocks

  /// Pushes, and says what became of it.
  func push(_ push: SilentPush, _ attempt: JobAttempt) async -> Classification {
    let end = clocks.monotonic.now() + attempt.timeout
    let id = PushID.make(for: attempt.identity)
    var tries = 0
    while true {
      tries += 1
      switch await tryOnce(push, id, until: end) {
      case .final(let classification): return classification
      case .again(let classification):
        guard tries < Self.maxTries, end - clocks.monotonic.now() >= Self.shortestTry, !Task.isCancelled else {
          return classification
        }
      }
    }
  }

  private enum Outcome {
    case final(Classification)
    /// It may be tried at once; else this is what became of it.
    case again(Classification)
  }

  private func tryOnce(_ push: SilentPush, _ id: String, until end: MonotonicTime) async -> Outcome {
    let sentAt = clocks.monotonic.now()
    let token: ProviderToken?
    let lease: ConnectionPool.Lease
    do throws(JOSEError) { token = try currentToken(clocks.wall.now()) } catch {
      return .final(.laneDown(Reason("PROVIDER_TOKEN", "No provider token can be signed: \(error)")))
    }
    do throws(TransportError) { lease = try pool.take() } catch { return .final(error.classification) }
    do throws(TransportError) {
      let response = try await lease.connection.send(request(push, id, token, timeout: end - sentAt))
      return await answered(APNsAnswer(response, now: clocks.wall.now()), id, token, lease)
    } catch {
      await pool.give(back: lease, Self.report(error, sentAt), now: clocks.monotonic.now())
      return .again(error.classification)
    }
  }

  private func currentToken(_ now: UnixTime) throws(JOSEError) -> ProviderToken? {
    guard case .tokens(let tokens) = credential else { return nil }
    return try tokens.current(now: now)
  }

  private static func report(_ error: TransportError, _ sentAt: MonotonicTime) -> ConnectionBook.Report {
    if case .timedOut = error.kind { .silent(since: sentAt) } else { .lost }
  }

  private func answered(
    _ answer: APNsAnswer, _ id: String, _ token: ProviderToken?, _ lease: ConnectionPool.Lease
  ) async -> Outcome {
    let now = clocks.monotonic.now()
    let classification = classification(answer, id)
    if let token, answer.reason == APNsAnswer.Reason.expiredProviderToken, case .tokens(let tokens) = credential {
      return await expired(token, of: tokens, lease, classification, now)
    }
    if APNsAnswer.Reason.closing.contains(answer.reason ?? "") {
      await pool.give(back: lease, .useless, now: now)
      return .again(classification)
    }
    let report: ConnectionBook.Report =
      switch classification {
      case .accepted: .taken
      case .refused, .otherLane: .refused
      case .retry, .unknown, .lost, .continued, .laneDown, .notCalled: .answered
      }
    await pool.give(back: lease, report, now: now)
    return .final(classification)
  }

  /// A connection keeps to the token that it was shown first, so another token needs another connection.
  private func expired(
    _ token: ProviderToken, of tokens: ProviderTokens, _ lease: ConnectionPool.Lease, _ classification: Classification,
    _ now: MonotonicTime
  ) async -> Outcome {
    await pool.give(back: lease, .useless, now: now)
    switch tokens.expired(token, now: clocks.wall.now()) {
    case .renewed:
      pool.replaceAll()
      return .again(classification)
    case .replaced: return .again(classification)
    case .tooYoung:
      return .final(
        .laneDown(
          Reason(
            "PROVIDER_TOKEN",
            "Apple calls a provider token expired that is younger than 20 minutes: check the clock of this machine.",
            providerCode: APNsAnswer.Reason.expiredProviderToken)))
    }
  }

  private func classification(_ answer: APNsAnswer, _ id: String) -> Classification {
    var extras: ResultExtras = ["environment": .string(environment.rawValue)]
    if answer.isTaken {
      let pushID = answer.pushID ?? id
      extras["apnsID"] = .string(pushID)
      return .accepted(reference: pushID, extras: extras)
    }
    extras["unregisteredAt"] = answer.unregisteredAt.map { .string($0.rfc3339) }
    switch answer.classification(table) {
    case .refused(let reason, _): return .refused(reason, extras: extras)
    case .otherLane(let reason, _): return .otherLane(reason, extras: extras)
    case let other: return other
    }
  }

  private func request(
    _ push: SilentPush, _ id: String, _ token: ProviderToken?, timeout: Duration
  ) -> HTTPRequest {
    var headers = HTTPHeaders([
      (name: "apns-topic", value: push.topic),
      (name: "apns-push-type", value: "background"),
      // 10 is an error for a push that shows nothing.
      (name: "apns-priority", value: "5"),
      (name: "apns-expiration", value: String(push.expiration.seconds)),
      (name: "apns-id", value: id),
      (name: "apns-collapse-id", value: id),
      (name: "content-type", value: "application/json"),
    ])
    if let token { headers.add(name: "authorization", value: "bearer \(token.text.reveal())") }
    return HTTPRequest(
      method: "POST", url: "\(baseURL)/3/device/\(push.deviceToken)", headers: headers, body: push.payload,
      timeouts: .within(min(timeout, answerTimeout)), isIdempotent: true, maxResponseBytes: Self.maxResponseBytes)
  }
}
