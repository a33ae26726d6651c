public import CountersignTelemetry
import HTTPClient
import JobEngine

/// Tries the service accounts of a configuration, without asking for an assessment.
public enum ServiceAccountCheck {
  /// What came of it for one lane.
  public struct Outcome: Sendable, Hashable {
    /// The lane's name.
    public let lane: String
    /// The account's address.
    public let account: String
    /// Why Google gives it no access token; nil when it does. Safe to show.
    public let problem: String?
  }

  /// Asks for an access token for each lane with a service account. The tokens are thrown away.
  /// - Parameters:
  ///   - configuration: The configuration, checked.
  ///   - clock: The time that assertions are dated with.
  ///   - timeout: How long each request may take.
  public static func outcomes(
    _ configuration: PushWorkerConfiguration, clock: any WallClock, timeout: Duration
  ) async -> [Outcome] {
    var outcomes: [Outcome] = []
    for entry in configuration.lanes {
      guard case .recaptcha(let settings) = entry.provider,
        case .enterprise(_, .serviceAccount(let account, let tokenURL)) = settings.account
      else { continue }
      let problem = await problem(
        account, tokenURL: tokenURL, entry, configuration.tables.googleOAuth, clock, min(timeout, TokenEndpoint.timeout)
      )
      outcomes.append(Outcome(lane: entry.lane.name, account: account.email, problem: problem))
    }
    return outcomes
  }

  private static func problem(
    _ account: ServiceAccount, tokenURL: String, _ entry: LaneSettings, _ table: ProviderTable,
    _ clock: any WallClock, _ timeout: Duration
  ) async -> String? {
    do {
      let http = try RecaptchaAccounts.transport(entry, concurrency: 1)
      let endpoint = TokenEndpoint(
        account: account, url: tokenURL, table: table, http: http,
        clocks: Clocks(wall: clock, monotonic: SystemMonotonicClock()), timeout: timeout)
      let answer = await endpoint.token(number: 1)
      await http.shutdown()
      switch answer {
      case .success: return nil
      case .failure(let failure): return failure.reason.description
      }
    } catch {
      return error.message
    }
  }
}
