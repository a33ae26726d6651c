import CountersignMessages
import JobEngine

struct AssessmentRules: Sendable, Hashable {
  var bundleID: String
  var androidPackages: Set<String> = []
  var hosts: Set<String> = []
  /// The keys of the old check box give no actions and scores.
  var hasScores = true
  var minScore = 0.5
  var maxTollFraudRisk = 0.8

  func verdict(_ assessment: RecaptchaAssessment, expectedAction: String, table: ProviderTable) -> Classification {
    let extras = extras(assessment)
    if let reason = assessment.invalidReason { return invalid(reason, table, extras) }
    if let reason = refusal(assessment, expectedAction) { return .refused(reason, extras: extras) }
    return .accepted(reference: assessment.reference, extras: extras)
  }

  private func refusal(_ assessment: RecaptchaAssessment, _ expectedAction: String) -> Reason? {
    if hasScores, assessment.action != expectedAction {
      return Reason("CAPTCHA_ACTION_MISMATCH", "The token was made for another action than the requested one.")
    }
    if !isBound(assessment) {
      return Reason("CAPTCHA_APP_MISMATCH", "The token was made by another app, or on a page of another host.")
    }
    if hasScores, (assessment.score ?? 0) < minScore {
      return Reason("CAPTCHA_SCORE_TOO_LOW", "The score is below the app's minimum, \(minScore).")
    }
    if let risk = assessment.tollFraudRisk, risk > maxTollFraudRisk {
      return Reason(
        "CAPTCHA_TOLL_FRAUD", "The risk of toll fraud is above the app's maximum, \(maxTollFraudRisk).")
    }
    return nil
  }

  /// A token without an origin is bound to no app.
  private func isBound(_ assessment: RecaptchaAssessment) -> Bool {
    assessment.bundleID == bundleID || assessment.androidPackage.map(androidPackages.contains) == true
      || assessment.host.map(hosts.contains) == true
  }

  private func invalid(_ word: String, _ table: ProviderTable, _ extras: ResultExtras) -> Classification {
    switch table.classification(status: Self.invalidStatus, code: word) {
    case .refused(let reason, _), .otherLane(let reason, _): .refused(reason, extras: extras)
    case let other: other
    }
  }

  /// Status for a reason that the table does not list. The answer itself has the status 200.
  private static let invalidStatus = 400

  private func extras(_ assessment: RecaptchaAssessment) -> ResultExtras {
    var extras: ResultExtras = [:]
    extras["score"] = assessment.score.map { .double($0) }
    extras["tollFraudRisk"] = assessment.tollFraudRisk.map { .double($0) }
    extras["action"] = assessment.action.map { .string($0) }
    return extras
  }
}
