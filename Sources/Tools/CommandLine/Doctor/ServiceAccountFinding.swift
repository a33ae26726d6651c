import Push
import ServiceRuntime

/// Finding about a service account of Google Cloud.
enum ServiceAccountFinding {
  static func finding(_ outcome: ServiceAccountCheck.Outcome) -> Finding {
    let check = "service account of lane \(outcome.lane)"
    guard let problem = outcome.problem else {
      return Finding(check, .ok, "Google gives access tokens to \(outcome.account)")
    }
    return Finding(
      check, .failed, "no access token for \(outcome.account): \(problem)",
      hint:
        "correct the lane in push-worker.json5, or the account and its keys in Google Cloud (IAM, Service accounts)"
    )
  }
}

extension LiveBackend {
  /// Checks whether Google gives access tokens to the service accounts of the push-worker.
  func serviceAccounts(_ directory: String) async -> [Finding] {
    let configuration: PushWorkerConfiguration
    do {
      // The environment of this program is not the worker's.
      configuration = try PushWorkerConfiguration.load(file: "\(directory)/push-worker.json5", environment: [:]).content
    } catch {
      // There is no such file, or the worker's own check has reported its problem.
      return []
    }
    return await ServiceAccountCheck.outcomes(configuration, clock: clock, timeout: timeout)
      .map(ServiceAccountFinding.finding)
  }
}
