public import CountersignTelemetry
import HTTPClient
import JobEngine

/// Tries the service accounts of a configuration without asking for an assessment.
public enum ServiceAccountCheck {
  /// Outcome for one lane.
  public struct Outcome: Sendable, Hashable {
    /// Name of the lane.
    public let lane: String
    /// Address of the account.
    public let account: String
    /// Reason why Google gives it no access token. `nil` if it does. Safe to show.
    public let problem: String?
  }

  /// Requests an access token for each lane with a service account. The tokens are discarded.
  ///
  /// - Parameters:
  ///   - configuration: checked configuration.
  ///   - clock: clock for the date of assertions.
  ///   - timeout: maximum time of each request.
  public static func outcomes(
    _ configuration: PushWorkerConfiguration, clock: any WallClock, timeout: Duration
  ) async -> [Outcome] {
    var outcomes: [Outcome] = []
    for entry in configuration.lanes {
      guard let provider = entry.provider as? EnterpriseProvider,
        case .serviceAccount(let account, let tokenURL) = provider.credential
      else { continue }
      let problem = await problem(
        account, tokenURL: tokenURL, entry, configuration.tables[RecaptchaTables.accessTokens], clock,
        min(timeout, TokenEndpoint.timeout))
      outcomes.append(Outcome(lane: entry.lane.name, account: account.email, problem: problem))
    }
    return outcomes
  }

  private static func problem(
    _ account: ServiceAccount, tokenURL: String, _ entry: PushLaneSettings, _ table: ProviderTable,
    _ clock: any WallClock, _ timeout: Duration
  ) async -> String? {
    do {
      let http = try entry.client(of: PushVerifier.program, concurrency: 1)
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
