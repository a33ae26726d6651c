import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// reCAPTCHA Enterprise: `POST /v1/projects/<project>/assessments`, with an API key or the access token of a service account.
struct EnterpriseLane: RecaptchaLane {
  /// Who asks.
  enum Credential: Sendable {
    case apiKey(Secret)
    case tokens(AccessTokens)
  }

  /// With less time than this left nothing is asked: the answer would not arrive, and the token be used up.
  static let shortestTry: Duration = .milliseconds(200)
  private static let unauthenticated = 401

  let name: String
  /// Without a slash at its end.
  let baseURL: String
  let project: String
  let credential: Credential
  let table: ProviderTable
  let http: any HTTPCaller
  let clocks: Clocks

  func assess(_ request: AssessmentRequest, siteKey: String, timeout: Duration) async -> AssessmentAnswer {
    let body: [UInt8]
    do { body = Array(try Self.encoder.encode(Question(event: Event(request, siteKey)))) } catch {
      return .failed(.refused(Reason("CAPTCHA_INVALID", "The assessment cannot be asked for in JSON.")))
    }
    switch credential {
    // In a header, since a query may be logged on the way.
    case .apiKey(let key):
      return await ask(body, ("X-Goog-Api-Key", key.reveal()), timeout: timeout).answer
    case .tokens(let tokens): return await ask(body, as: tokens, until: clocks.monotonic.now() + timeout)
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

  /// A 401 says that Google looked at the caller and not at the question. So the access token, which by its age is good, was revoked or
  /// belongs to a key that was; with another one the question is asked once more.
  private func ask(_ body: [UInt8], as tokens: AccessTokens, until end: MonotonicTime) async -> AssessmentAnswer {
    var isRepeated = false
    while true {
      let token: AccessToken
      switch await tokens.current() {
      case .success(let current): token = current
      case .failure(let failure): return .failed(failure.classification)
      }
      let left = end - clocks.monotonic.now()
      guard left >= Self.shortestTry else { return .failed(.retry(Self.tooLate)) }
      let (answer, status) = await ask(body, ("Authorization", "Bearer \(token.text.reveal())"), timeout: left)
      guard status == Self.unauthenticated else { return answer }
      tokens.rejected(token)
      guard !isRepeated else { return answer }
      isRepeated = true
    }
  }

  /// - Returns: the status too, when there is an answer.
  private func ask(
    _ body: [UInt8], _ credential: (name: String, value: String), timeout: Duration
  ) async -> (answer: AssessmentAnswer, status: Int?) {
    let call = HTTPRequest(
      method: "POST", url: "\(baseURL)/v1/projects/\(project)/assessments",
      headers: HTTPHeaders([
        (name: "Content-Type", value: "application/json"), (name: "Accept", value: "application/json"), credential,
      ]),
      body: body, timeouts: .within(timeout), maxResponseBytes: 64 * 1024)
    do throws(TransportError) {
      let response = try await http.send(call)
      return (answer(response), response.status)
    } catch {
      return (.failed(error.classification), nil)
    }
  }

  private static let tooLate = Reason(
    "TOKEN_UNAVAILABLE", "Google gave an access token too late for the assessment.")

  private func answer(_ response: HTTPResponse) -> AssessmentAnswer {
    let answer: Answer
    do { answer = try JSONReader.answers.decode(Answer.self, from: response.body) } catch {
      return failed(response, nil)
    }
    guard response.status == 200, let token = answer.tokenProperties else {
      return failed(response, answer.error?.code(table))
    }
    return .assessed(Assessment(answer, token))
  }

  private func failed(_ response: HTTPResponse, _ code: String?) -> AssessmentAnswer {
    // A success that cannot be read may well have used the token up.
    guard response.status / 100 != 2 else {
      return .failed(.unknown(Reason("PROVIDER_ERROR", "The answer of reCAPTCHA cannot be read.")))
    }
    let retryAfter = response.headers["Retry-After"].flatMap { RetryAfter.parse($0, now: clocks.wall.now()) }
    return .failed(
      ProviderAnswer(status: response.status, code: code, retryAfter: retryAfter).classification(table))
  }

  // One for the process: it is safe to share.
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

  /// Fields that have their type's zero are left out of Google's JSON.
  fileprivate struct Answer: Decodable {
    let name: String?
    let tokenProperties: TokenProperties?
    let riskAnalysis: RiskAnalysis?
    let phoneFraudAssessment: PhoneFraud?
    let error: Failure?

    struct TokenProperties: Decodable {
      let valid: Bool?
      let invalidReason: String?
      let action: String?
      let hostname: String?
      let iosBundleId: String?
      let androidPackageName: String?
    }

    struct RiskAnalysis: Decodable {
      let score: Double?
    }

    struct PhoneFraud: Decodable {
      let smsTollFraudVerdict: Verdict?

      struct Verdict: Decodable {
        let risk: Double?
      }
    }

    struct Failure: Decodable {
      let status: String?
      let details: [Detail]?

      struct Detail: Decodable {
        let reason: String?
      }

      /// Google says INVALID_ARGUMENT of a wrong API key as well as of a wrong site key; a reason tells more.
      func code(_ table: ProviderTable) -> String? {
        let reasons = (details ?? []).compactMap(\.reason)
        return reasons.first { table.rule(code: $0, status: 400).isOfCode } ?? status
      }
    }
  }
}

extension Assessment {
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
