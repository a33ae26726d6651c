import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// The classic reCAPTCHA: `POST /recaptcha/api/siteverify`, with the secret of the site.
struct SiteverifyLane: RecaptchaLane {
  let context: LaneContext
  /// Without a slash at its end.
  let baseURL: String
  let secret: Secret

  /// The secret takes the place of the site key.
  func request(_ call: AssessmentCall, _ attempt: JobAttempt) -> PreparedRequest<HTTPRequest> {
    var fields = [
      (name: "secret", value: secret.reveal()), (name: "response", value: call.request.token.text.reveal()),
    ]
    if let ip = call.request.ip { fields.append((name: "remoteip", value: ip)) }
    return .request(
      HTTPRequest(
        method: "POST", url: "\(baseURL)/recaptcha/api/siteverify",
        headers: HTTPHeaders([
          (name: "Content-Type", value: "application/x-www-form-urlencoded"),
          (name: "Accept", value: "application/json"),
        ]),
        body: FormEncoding.encode(fields), timeouts: .within(attempt.timeout),
        maxResponseBytes: LaneRequest.maxResponseBytes))
  }

  func read(_ response: HTTPResponse) -> AssessmentAnswer {
    let response = ProviderResponse<Answer>(response, now: context.clock.now())
    guard response.status == 200 else { return .failed(response.classification(context.table)) }
    guard let answer = response.body else { return .unreadable }
    let assessment = RecaptchaAssessment(answer)
    // A wrong secret is reported like a reason why the token is invalid.
    if let reason = assessment.invalidReason,
      case .laneDown(let why) = context.table.classification(status: 400, code: reason)
    {
      return .failed(.laneDown(why))
    }
    return .assessed(assessment)
  }

  fileprivate struct Answer: Decodable, Sendable {
    let success: Bool
    let hostname: String?
    let apkPackageName: String?
    let score: Double?
    let action: String?
    let errorCodes: [String]?

    enum CodingKeys: String, CodingKey {
      case success, hostname, score, action
      case apkPackageName = "apk_package_name"
      case errorCodes = "error-codes"
    }
  }
}

extension RecaptchaAssessment {
  fileprivate init(_ answer: SiteverifyLane.Answer) {
    self.init(
      invalidReason: answer.success ? nil : AssessmentText.bounded(answer.errorCodes?.first) ?? "unknown",
      action: AssessmentText.bounded(answer.action), score: answer.score.map(AssessmentText.fraction),
      androidPackage: AssessmentText.bounded(answer.apkPackageName), host: AssessmentText.bounded(answer.hostname))
  }
}
