import CountersignCryptography
import CountersignTelemetry
import HTTPClient
import JobEngine

protocol RecaptchaLane: HTTPLane where Call == AssessmentCall {
  func read(_ response: HTTPResponse) -> AssessmentAnswer
}

extension RecaptchaLane {
  func classify(_ response: HTTPResponse, of call: AssessmentCall) -> Classification {
    switch read(response) {
    case .failed(let classification): classification
    case .assessed(let assessment): call.judge(assessment, context.table)
    }
  }
}

struct AssessmentCall: Sendable {
  let request: AssessmentRequest
  let app: RecaptchaApp
  /// Whether an earlier call of the same job may have used the token up.
  let isUncertain: Bool
  var accessToken: Secret?

  func judge(_ assessment: RecaptchaAssessment, _ table: ProviderTable) -> Classification {
    // The duplicate may be our own earlier call, whose answer was lost.
    if isUncertain, assessment.isDuplicate { return .lost(Self.lost) }
    return app.rules.verdict(assessment, expectedAction: request.expectedAction, table: table)
  }

  private static let lost = Reason(
    "ASSESSMENT_LOST", "The token was assessed and the answer did not arrive; the app has to get another token.")
}

enum AssessmentAnswer: Sendable, Hashable {
  case assessed(RecaptchaAssessment)
  /// There is no assessment.
  case failed(Classification)

  static let unreadable = AssessmentAnswer.failed(
    .unknown(Reason("PROVIDER_ERROR", "The answer of reCAPTCHA cannot be read.")))
}

/// A token ready to be assessed. It does not print.
public struct AssessmentRequest: Sendable {
  let app: String
  let token: RecaptchaToken
  let expectedAction: String
  let ip: String?
  let userAgent: String?
  let phoneNumber: String?
}

extension AssessmentRequest: CustomStringConvertible, CustomReflectable {
  public var description: String { "<reCAPTCHA token>" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

struct RecaptchaToken: Sendable {
  /// ReCAPTCHA's tokens have about 1,500 to 7,000 characters.
  static let maxLength = 16 * 1024

  let text: Secret
  /// SHA-256 of app and token: identifies the token, and is useless to a reader.
  let hash: [UInt8]

  init?(_ text: Secret, app: String) {
    let bytes = Array(text.reveal().utf8)
    guard (1...Self.maxLength).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      return nil
    }
    self.text = text
    hash = SHA256.hash(Array(app.utf8) + [0] + bytes)
  }
}
