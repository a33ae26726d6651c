import CountersignMessages
import JobEngine

/// What an app asks of an assessment.
struct AssessmentRules: Sendable, Hashable {
  /// The bundle ID of the app itself.
  var bundleID: String
  /// The app's packages on Android.
  var androidPackages: Set<String> = []
  /// Hosts of pages that stand in for the app.
  var hosts: Set<String> = []
  /// Whether the kind of key gives actions and scores; the old check box does not.
  var hasScores = true
  /// A lower score is refused.
  var minimumScore = 0.5
  /// A higher risk of toll fraud is refused.
  var maximumTollFraudRisk = 0.8

  /// Accepts the token or refuses it with the reason.
  /// - Parameters:
  ///   - assessment: What reCAPTCHA says.
  ///   - expectedAction: What the job says that the user was about to do.
  ///   - table: What reCAPTCHA's words mean.
  func verdict(_ assessment: Assessment, expectedAction: String, table: ProviderTable) -> Classification {
    let extras = extras(assessment)
    if let reason = assessment.invalidReason { return invalid(reason, table, extras) }
    if let reason = refusal(assessment, expectedAction) { return .refused(reason, extras: extras) }
    return .accepted(reference: assessment.reference, extras: extras)
  }

  private func refusal(_ assessment: Assessment, _ expectedAction: String) -> Reason? {
    if hasScores, assessment.action != expectedAction {
      return Reason("CAPTCHA_ACTION_MISMATCH", "The token was made for another action than the one that is asked for.")
    }
    if !isBound(assessment) {
      return Reason("CAPTCHA_APP_MISMATCH", "The token was made by another app, or on a page of another host.")
    }
    if hasScores, (assessment.score ?? 0) < minimumScore {
      return Reason("CAPTCHA_SCORE_TOO_LOW", "The score is below the app's minimum, \(minimumScore).")
    }
    if let risk = assessment.tollFraudRisk, risk > maximumTollFraudRisk {
      return Reason(
        "CAPTCHA_TOLL_FRAUD", "The risk of toll fraud is above the app's maximum, \(maximumTollFraudRisk).")
    }
    return nil
  }

  /// A token that does not say where it was made is bound to nothing.
  private func isBound(_ assessment: Assessment) -> Bool {
    assessment.bundleID == bundleID || assessment.androidPackage.map(androidPackages.contains) == true
      || assessment.host.map(hosts.contains) == true
  }

  private func invalid(_ word: String, _ table: ProviderTable, _ extras: ResultExtras) -> Classification {
    switch ProviderAnswer(status: Self.invalidStatus, code: word).classification(table) {
    case .refused(let reason, _), .otherLane(let reason, _): .refused(reason, extras: extras)
    case let other: other
    }
  }

  /// An answer that a token is invalid has the status 200; a word that the table does not have falls into the class of this one.
  private static let invalidStatus = 400

  private func extras(_ assessment: Assessment) -> ResultExtras {
    var extras: ResultExtras = [:]
    extras["score"] = assessment.score.map { .double($0) }
    extras["tollFraudRisk"] = assessment.tollFraudRisk.map { .double($0) }
    extras["action"] = assessment.action.map { .string($0) }
    return extras
  }
}
