import CountersignMessages
import JobEngine
import Testing

@testable import Push

@Suite struct AssessmentRulesTests {
  private static let good = RecaptchaAssessment(reference: "n", action: "a", score: 0.9, bundleID: Sample.app)
  private let rules = AssessmentRules(
    bundleID: Sample.app, androidPackages: ["com.example.android"], hosts: ["auth.example.com"])

  private func verdict(
    _ rules: AssessmentRules? = nil, _ change: (inout RecaptchaAssessment) -> Void
  ) throws -> Classification {
    var assessment = Self.good
    change(&assessment)
    return (rules ?? self.rules).verdict(assessment, expectedAction: "a", table: try Sample.recaptchaTable())
  }

  @Test func `A good token is accepted`() throws {
    let outcome = try verdict { $0.tollFraudRisk = 0.8 }
    #expect(outcome.short == "accepted n")
    #expect(outcome.extras == ["score": 0.9, "tollFraudRisk": 0.8, "action": "a"])
    #expect(try verdict { $0.score = 0.5 }.short == "accepted n")
  }

  @Test func `Each rule refuses with its own reason`() throws {
    #expect(try verdict { $0.action = "b" }.short == "refused CAPTCHA_ACTION_MISMATCH")
    #expect(try verdict { $0.action = nil }.short == "refused CAPTCHA_ACTION_MISMATCH")
    #expect(try verdict { $0.bundleID = "com.example.other" }.short == "refused CAPTCHA_APP_MISMATCH")
    #expect(try verdict { $0.bundleID = nil }.short == "refused CAPTCHA_APP_MISMATCH")
    #expect(try verdict { $0.score = 0.49 }.short == "refused CAPTCHA_SCORE_TOO_LOW")
    #expect(try verdict { $0.score = nil }.short == "refused CAPTCHA_SCORE_TOO_LOW")
    let fraud = try verdict { $0.tollFraudRisk = 0.81 }
    #expect(fraud.short == "refused CAPTCHA_TOLL_FRAUD")
    #expect(fraud.extras == ["score": 0.9, "tollFraudRisk": 0.81, "action": "a"])
  }

  @Test func `A token may come from what stands for the app`() throws {
    func outcome(_ change: (inout RecaptchaAssessment) -> Void) throws -> String {
      try verdict {
        $0.bundleID = nil
        change(&$0)
      }.short
    }
    #expect(try outcome { $0.androidPackage = "com.example.android" } == "accepted n")
    #expect(try outcome { $0.androidPackage = "com.example.other" } == "refused CAPTCHA_APP_MISMATCH")
    #expect(try outcome { $0.host = "auth.example.com" } == "accepted n")
    #expect(try outcome { $0.host = "evil.example.com" } == "refused CAPTCHA_APP_MISMATCH")
  }

  @Test func `The check box has neither action nor score`() throws {
    var rules = rules
    rules.hasScores = false
    let outcome = try verdict(rules) { $0 = RecaptchaAssessment(host: "auth.example.com") }
    #expect(outcome.short == "accepted -")
    #expect(outcome.extras.isEmpty)
    #expect(
      try verdict(rules) { $0 = RecaptchaAssessment(host: "evil.example.com") }.short == "refused CAPTCHA_APP_MISMATCH")
  }

  @Test(
    arguments: [
      ("MALFORMED", "refused CAPTCHA_INVALID"), ("EXPIRED", "refused CAPTCHA_EXPIRED"),
      ("DUPE", "refused CAPTCHA_DUPLICATE"), ("MISSING", "refused CAPTCHA_INVALID"),
      ("BROWSER_ERROR", "refused CAPTCHA_INVALID"), ("UNEXPECTED_ACTION", "refused CAPTCHA_ACTION_MISMATCH"),
      ("KEY_MISMATCH", "refused CAPTCHA_APP_MISMATCH"), ("DOMAIN_MISMATCH", "refused CAPTCHA_APP_MISMATCH"),
      ("timeout-or-duplicate", "refused CAPTCHA_EXPIRED"), ("invalid-input-response", "refused CAPTCHA_INVALID"),
      ("SOMETHING_NEW", "refused CAPTCHA_INVALID"),
    ])
  func `An invalid token is refused`(reason: String, expected: String) throws {
    let outcome = try verdict { $0.invalidReason = reason }
    #expect(outcome.short == expected)
    #expect(outcome.reason?.providerCode == reason)
  }
}
