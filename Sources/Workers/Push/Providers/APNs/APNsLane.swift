import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import JobEngine

/// Pushing the same receipt and secret twice is harmless: the device keeps one push (`apns-collapse-id`), and the app
/// takes either. A push without a clear answer is therefore sent again at once, on another connection, while its time
/// lasts.
struct APNsLane: ProviderLane {
  enum Credential: Sendable {
    /// A token signed with the team's key.
    case tokens(ProviderTokens)
    case certificate
  }

  static let maxTries = 3
  static let shortestTry: Duration = .milliseconds(200)

  let name: String
  let api: APNsAPI
  let credential: Credential
  let pool: ConnectionPool
  let clocks: Clocks

  func shutdown() async { await pool.shutdown() }

  /// Again if an answer is missing.
  func send(_ push: SilentPush, _ attempt: JobAttempt) async -> Classification {
    let end = clocks.monotonic.now() + attempt.timeout
    let id = PushID.make(for: attempt.job)
    var tries = 0
    while true {
      tries += 1
      switch await tryOnce(push, id, attempt, until: end) {
      case .final(let classification): return classification
      case .again(let classification):
        guard tries < Self.maxTries, end - clocks.monotonic.now() >= Self.shortestTry, !Task.isCancelled else {
          return classification
        }
      }
    }
  }

  private enum TryOutcome {
    case final(Classification)
    /// Another try may follow at once. Otherwise this is the outcome.
    case again(Classification)
  }

  private func tryOnce(
    _ push: SilentPush, _ id: String, _ attempt: JobAttempt, until end: MonotonicTime
  ) async -> TryOutcome {
    let sentAt = clocks.monotonic.now()
    let token: ProviderToken?
    let lease: ConnectionPool.Lease
    do throws(JOSEError) { token = try currentToken(clocks.wall.now()) } catch {
      return .final(.laneDown(Reason("PROVIDER_TOKEN", "No provider token can be signed: \(error)")))
    }
    do throws(TransportError) { lease = try pool.take() } catch { return .final(error.classification) }
    var attempt = attempt
    attempt.timeout = end - sentAt
    switch await lease.connection.perform(api, APNsAPI.Call(push: push, id: id, token: token), attempt) {
    case .answered(let classification, _): return await noteAnswer(classification, token, lease)
    case .unanswered(let error):
      await pool.give(back: lease, Self.report(error, sentAt), now: clocks.monotonic.now())
      return .again(error.classification)
    case .notSent(let classification):
      await pool.give(back: lease, .answered, now: clocks.monotonic.now())
      return .final(classification)
    }
  }

  private func currentToken(_ now: UnixTime) throws(JOSEError) -> ProviderToken? {
    guard case .tokens(let tokens) = credential else { return nil }
    return try tokens.current(now: now)
  }

  private static func report(_ error: TransportError, _ sentAt: MonotonicTime) -> ConnectionSelector.Report {
    if case .timedOut = error.kind { .silent(since: sentAt) } else { .lost }
  }

  private func noteAnswer(
    _ classification: Classification, _ token: ProviderToken?, _ lease: ConnectionPool.Lease
  ) async -> TryOutcome {
    let now = clocks.monotonic.now()
    let word = Self.word(classification)
    if let token, word == APNsAnswer.Reason.expiredProviderToken, case .tokens(let tokens) = credential {
      return await renew(token, of: tokens, lease, classification, now)
    }
    if let word, APNsAnswer.Reason.closing.contains(word) {
      await pool.give(back: lease, .useless, now: now)
      return .again(classification)
    }
    let report: ConnectionSelector.Report =
      switch classification {
      case .accepted: .taken
      case .refused, .otherLane: .refused
      case .retry, .unknown, .lost, .continued, .laneDown, .notCalled: .answered
      }
    await pool.give(back: lease, report, now: now)
    return .final(classification)
  }

  private static func word(_ classification: Classification) -> String? {
    switch classification {
    case .accepted, .continued: nil
    case .refused(let reason, _), .otherLane(let reason, _), .retry(let reason, _), .unknown(let reason),
      .lost(let reason, _), .laneDown(let reason), .notCalled(let reason, _):
      reason.providerCode
    }
  }

  /// A connection stays bound to the first token it was shown, so a new token needs a new connection.
  private func renew(
    _ token: ProviderToken, of tokens: ProviderTokens, _ lease: ConnectionPool.Lease, _ classification: Classification,
    _ now: MonotonicTime
  ) async -> TryOutcome {
    await pool.give(back: lease, .useless, now: now)
    switch tokens.markExpired(token, now: clocks.wall.now()) {
    case .renewed:
      pool.replaceAll()
      return .again(classification)
    case .replaced: return .again(classification)
    case .tooYoung:
      return .final(
        .laneDown(
          Reason(
            "PROVIDER_TOKEN",
            "Apple reports a provider token younger than 20 minutes as expired: check the clock of this machine.",
            providerCode: APNsAnswer.Reason.expiredProviderToken)))
    }
  }
}
