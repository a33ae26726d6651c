import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// The classic reCAPTCHA: `POST /recaptcha/api/siteverify`, with the secret of the site.
struct SiteverifyLane: RecaptchaLane {
  let name: String
  /// Without a slash at its end.
  let baseURL: String
  let secret: Secret
  let table: ProviderTable
  let http: any HTTPCaller
  let clock: any WallClock

  /// The secret stands for the site key here.
  func assess(_ request: AssessmentRequest, siteKey: String, timeout: Duration) async -> AssessmentAnswer {
    var fields = [
      (name: "secret", value: secret.reveal()), (name: "response", value: request.token.text.reveal()),
    ]
    if let ip = request.ip { fields.append((name: "remoteip", value: ip)) }
    let call = HTTPRequest(
      method: "POST", url: "\(baseURL)/recaptcha/api/siteverify",
      headers: HTTPHeaders([
        (name: "Content-Type", value: "application/x-www-form-urlencoded"), (name: "Accept", value: "application/json"),
      ]),
      body: FormEncoding.encode(fields), timeouts: .within(timeout), maxResponseBytes: 64 * 1024)
    do throws(TransportError) {
      return answer(try await http.send(call))
    } catch {
      return .failed(error.classification)
    }
  }

  private func answer(_ response: HTTPResponse) -> AssessmentAnswer {
    guard response.status == 200 else {
      let retryAfter = response.headers["Retry-After"].flatMap { RetryAfter.parse($0, now: clock.now()) }
      return .failed(ProviderAnswer(status: response.status, retryAfter: retryAfter).classification(table))
    }
    let answer: Answer
    do { answer = try JSONReader.answers.decode(Answer.self, from: response.body) } catch {
      return .failed(.unknown(Reason("PROVIDER_ERROR", "The answer of reCAPTCHA cannot be read.")))
    }
    return classify(Assessment(answer))
  }

  /// That the secret is wrong comes as a reason why the token is.
  private func classify(_ assessment: Assessment) -> AssessmentAnswer {
    guard let reason = assessment.invalidReason else { return .assessed(assessment) }
    if case .laneDown(let why) = ProviderAnswer(status: 400, code: reason).classification(table) {
      return .failed(.laneDown(why))
    }
    return .assessed(assessment)
  }

  fileprivate struct Answer: Decodable {
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

extension Assessment {
  fileprivate init(_ answer: SiteverifyLane.Answer) {
    self.init(
      invalidReason: answer.success ? nil : AssessmentText.bounded(answer.errorCodes?.first) ?? "unknown",
      action: AssessmentText.bounded(answer.action), score: answer.score.map(AssessmentText.fraction),
      androidPackage: AssessmentText.bounded(answer.apkPackageName), host: AssessmentText.bounded(answer.hostname))
  }
}
