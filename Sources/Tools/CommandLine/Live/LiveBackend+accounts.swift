internal import Push
internal import ServiceRuntime

extension LiveBackend {
  /// Whether Google gives access tokens to the service accounts of the push-worker.
  func serviceAccounts(_ directory: String) async -> [Finding] {
    let configuration: PushWorkerConfiguration
    do {
      // The environment of this program is not that of the worker.
      configuration = try PushWorkerConfiguration.load(file: "\(directory)/push-worker.json5", environment: [:]).content
    } catch {
      // There is none here, or the worker's own check has told what is wrong with it.
      return []
    }
    return await ServiceAccountCheck.outcomes(configuration, clock: clock, timeout: timeout)
      .map(ServiceAccountFinding.finding)
  }
}
