internal import Push

/// What is told of a service account of Google Cloud.
enum ServiceAccountFinding {
  static func finding(_ outcome: ServiceAccountCheck.Outcome) -> Finding {
    let check = "service account of lane \(outcome.lane)"
    guard let problem = outcome.problem else {
      return Finding(check, .ok, "Google gives access tokens to \(outcome.account)")
    }
    return Finding(
      check, .failed, "no access token for \(outcome.account): \(problem)",
      mend:
        "mend the lane in push-worker.json5, or the account and its keys in Google Cloud (IAM, Service accounts)"
    )
  }
}
