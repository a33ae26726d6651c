import Push
import ServiceRuntime

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
  func serviceAccounts(_ processes: [ProcessFacts]) async -> [Finding] {
    // One of them stands for all, which have the same file.
    guard
      let guarded = processes.first(where: { $0.name == "push-worker" && $0.report?.guarded != nil })?.report?.guarded,
      let file = guarded.configurationFile
    else { return [] }
    let configuration: PushWorkerConfiguration
    do {
      // Its units name paths by variables.
      let variables = guarded.settings.filter { $0.value.hasPrefix("/") }
      configuration = try PushWorkerConfiguration.load(
        file: file,
        environment: Dictionary(variables.map { (ConfigurationKey.variable(for: $0.key), $0.value) }) { first, _ in
          first
        }
      ).content
    } catch {
      // There is no such file, or the worker's own check has reported its problem.
      return []
    }
    return await ServiceAccountCheck.outcomes(configuration, clock: clock, timeout: timeout)
      .map(ServiceAccountFinding.finding)
  }
}
