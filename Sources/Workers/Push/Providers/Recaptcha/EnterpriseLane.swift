import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// `POST /v1/projects/<project>/assessments`, with an API key or the access token of a service account.
struct EnterpriseLane: RecaptchaLane {
  enum Credential: Sendable {
    case apiKey(Secret)
    case tokens(AccessTokens)
  }

  /// Minimum time for a question: with less, the answer would not arrive, and the token would be used up.
  static let shortestTry: Duration = .milliseconds(200)
  private static let unauthenticated = 401

  let context: LaneContext
  /// Without a slash at its end.
  let baseURL: String
  let project: String
  let credential: Credential
  let monotonic: any MonotonicClock

  func send(_ call: AssessmentCall, _ attempt: JobAttempt) async -> Classification {
    switch credential {
    case .apiKey: await context.http.perform(self, call, attempt).classification
    case .tokens(let tokens): await send(call, attempt, as: tokens, until: monotonic.now() + attempt.timeout)
    }
  }

  /// Asks for an access token only: without a token of reCAPTCHA there is nothing to assess.
  func probe() async -> ProbeResult {
    guard case .tokens(let tokens) = credential else { return .cannotTell }
    switch await tokens.current() {
    case .success: return .cannotTell
    case .failure(let failure): return .down(failure.reason)
    }
  }

  /// A 401 says that Google looked at the caller and not at the question: the access token, which by its age is good,
  /// was revoked, or its key was. The question is asked once more with another token.
  private func send(
    _ call: AssessmentCall, _ attempt: JobAttempt, as tokens: AccessTokens, until end: MonotonicTime
  ) async -> Classification {
    var (call, attempt, isRepeated) = (call, attempt, false)
    while true {
      let token: AccessToken
      switch await tokens.current() {
      case .success(let current): token = current
      case .failure(let failure): return failure.classification
      }
      attempt.timeout = end - monotonic.now()
      guard attempt.timeout >= Self.shortestTry else { return .retry(Self.tooLate) }
      call.accessToken = token.text
      let outcome = await context.http.perform(self, call, attempt)
      guard case .answered(_, let status) = outcome, status == Self.unauthenticated else {
        return outcome.classification
      }
      tokens.reject(token)
      guard !isRepeated else { return outcome.classification }
      isRepeated = true
    }
  }

  private static let tooLate = Reason(
    "TOKEN_UNAVAILABLE", "Google issued an access token too late for the assessment.")

  func request(_ call: AssessmentCall, _ attempt: JobAttempt) -> PreparedRequest<HTTPRequest> {
    guard let body = try? Self.encoder.encode(Question(event: Event(call.request, call.app.siteKey))) else {
      return .impossible(
        .refused(Reason("CAPTCHA_INVALID", "The request for the assessment cannot be written as JSON.")))
    }
    var headers = HTTPHeaders([
      (name: "Content-Type", value: "application/json"), (name: "Accept", value: "application/json"),
    ])
    // In a header, because a query may be logged on the way.
    if case .apiKey(let key) = credential { headers.add(name: "X-Goog-Api-Key", value: key.reveal()) }
    if let token = call.accessToken { headers.add(name: "Authorization", value: "Bearer \(token.reveal())") }
    return .request(
      HTTPRequest(
        method: "POST", url: "\(baseURL)/v1/projects/\(project)/assessments", headers: headers, body: Array(body),
        timeouts: .within(attempt.timeout), maxResponseBytes: LaneRequest.maxResponseBytes))
  }

  func read(_ response: HTTPResponse) -> AssessmentAnswer {
    let response = ProviderResponse<Answer>(response, now: context.clock.now())
    if response.status == 200, let answer = response.body, let token = answer.tokenProperties {
      return .assessed(RecaptchaAssessment(answer, token))
    }
    // A success that cannot be read may well have used the token up.
    guard !response.isSuccess else { return .unreadable }
    return .failed(response.classification(context.table, code: response.body?.error?.code(context.table)))
  }

  // One for the process; it may be shared.
  private static let encoder: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
    return encoder
  }()
}

extension EnterpriseLane {
  private struct Question: Encodable {
    let event: Event
  }

  private struct Event: Encodable {
    let token: String
    let siteKey: String
    let expectedAction: String
    let userIpAddress: String?
    let userAgent: String?
    let userInfo: UserInfo?

    struct UserInfo: Encodable {
      let userIds: [UserID]
    }

    struct UserID: Encodable {
      let phoneNumber: String
    }

    init(_ request: AssessmentRequest, _ siteKey: String) {
      token = request.token.text.reveal()
      self.siteKey = siteKey
      expectedAction = request.expectedAction
      userIpAddress = request.ip
      userAgent = request.userAgent
      userInfo = request.phoneNumber.map { UserInfo(userIds: [UserID(phoneNumber: $0)]) }
    }
  }

  /// Google's JSON leaves out fields with the zero value of their type.
  fileprivate struct Answer: Decodable, Sendable {
    let name: String?
    let tokenProperties: TokenProperties?
    let riskAnalysis: RiskAnalysis?
    let phoneFraudAssessment: PhoneFraud?
    let error: Failure?

    struct TokenProperties: Decodable, Sendable {
      let valid: Bool?
      let invalidReason: String?
      let action: String?
      let hostname: String?
      let iosBundleId: String?
      let androidPackageName: String?
    }

    struct RiskAnalysis: Decodable, Sendable {
      let score: Double?
    }

    struct PhoneFraud: Decodable, Sendable {
      let smsTollFraudVerdict: Verdict?

      struct Verdict: Decodable, Sendable {
        let risk: Double?
      }
    }

    struct Failure: Decodable, Sendable {
      let status: String?
      let details: [Detail]?

      struct Detail: Decodable, Sendable {
        let reason: String?
      }

      /// A reason is more exact than the status: INVALID_ARGUMENT stands for a wrong API key as well as for a wrong
      /// site key.
      func code(_ table: ProviderTable) -> String? {
        let reasons = (details ?? []).compactMap(\.reason)
        return reasons.first { table.rule(code: $0, status: 400).isOfCode } ?? status
      }
    }
  }
}

extension RecaptchaAssessment {
  fileprivate init(_ answer: EnterpriseLane.Answer, _ token: EnterpriseLane.Answer.TokenProperties) {
    reference = AssessmentText.bounded(answer.name)
    invalidReason =
      token.valid == true ? nil : AssessmentText.bounded(token.invalidReason) ?? "INVALID_REASON_UNSPECIFIED"
    action = AssessmentText.bounded(token.action)
    score = answer.riskAnalysis.map { AssessmentText.fraction($0.score) }
    tollFraudRisk = answer.phoneFraudAssessment?.smsTollFraudVerdict.map { AssessmentText.fraction($0.risk) }
    bundleID = AssessmentText.bounded(token.iosBundleId)
    androidPackage = AssessmentText.bounded(token.androidPackageName)
    host = AssessmentText.bounded(token.hostname)
  }
}
