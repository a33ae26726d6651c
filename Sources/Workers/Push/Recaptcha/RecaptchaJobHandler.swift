import CountersignCryptography
public import CountersignMessages
import CountersignTelemetry
public import JobEngine

/// Has a reCAPTCHA token assessed, and judges by the app's rules.
///
/// A token is taken in the memory before it is assessed, and its verdict recorded there before anybody learns of it. So a token counts once,
/// whatever is delivered twice and whatever is killed when; and where an answer was lost, so that reCAPTCHA now says "duplicate" to ourselves,
/// the outcome is `unknown` and not a refusal of a user who did nothing wrong.
public struct RecaptchaJobHandler: JobHandler {
  public typealias Body = RecaptchaAssessJob
  public typealias Job = AssessmentRequest

  private let apps: [String: RecaptchaApp]
  private let lanes: [String: any RecaptchaLane]
  private let table: ProviderTable
  private let keys: KeyRing
  private let memory: any AssessmentMemory
  private let log: Logger

  /// - Parameters:
  ///   - apps: By bundle ID.
  ///   - lanes: Their names differ.
  ///   - table: What reCAPTCHA's words mean.
  ///   - keys: Opens sealed tokens; with an empty one a sealed token is a dead letter.
  ///   - memory: Remembers tokens.
  ///   - log: Says what could not be recorded.
  init(
    apps: [String: RecaptchaApp], lanes: [any RecaptchaLane], table: ProviderTable, keys: KeyRing,
    memory: any AssessmentMemory, log: Logger
  ) {
    self.apps = apps
    self.lanes = Dictionary(lanes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    self.table = table
    self.keys = keys
    self.memory = memory
    self.log = log
  }

  public func prepare(_ body: RecaptchaAssessJob, of message: JobMessage) -> Preparation<AssessmentRequest> {
    guard let app = apps[body.app] else { return .refused(Self.unknownApp) }
    let context = SealContext(messageType: message.messageType, messageID: message.messageID, recipient: body.app)
    do throws(ContractProblem) {
      let text = try body.token.open(with: keys, for: context, field: "token")
      guard let token = RecaptchaToken(text, app: body.app) else { return .refused(Self.noToken) }
      let request = AssessmentRequest(
        app: body.app, token: token, expectedAction: body.expectedAction, ip: body.client?.ip,
        userAgent: body.client?.userAgent, phoneNumber: body.phoneNumber)
      // Asked again, reCAPTCHA says either that the token is new or that it was assessed: both tell what happened.
      return .ready(PreparedJob(request, lanes: [app.lane], deadline: body.deadline, onUnknown: .resend))
    } catch {
      return .invalid(error)
    }
  }

  public func perform(_ request: AssessmentRequest, on lane: String, _ attempt: JobAttempt) async -> Classification {
    guard let lane = lanes[lane], let app = apps[request.app] else { return .refused(Self.unknownApp) }
    let isUncertain: Bool
    do throws(AssessmentMemoryError) {
      switch try await memory.begin(request.token.hash, jobID: attempt.jobID, now: attempt.startedAt) {
      case .fresh: isUncertain = false
      case .uncertain: isUncertain = true
      case .assessed(let verdict): return verdict.classification
      case .spent: return .refused(Self.duplicate)
      }
    } catch {
      return .retry(Reason("MEMORY_UNAVAILABLE", "The memory of assessed tokens cannot be written: \(error)"))
    }
    let answer = await lane.assess(request, siteKey: app.siteKey, timeout: attempt.timeout)
    let classification = classify(answer, request, app, isUncertain: isUncertain)
    await record(classification, request, attempt, wasUncertain: isUncertain)
    return classification
  }

  public func probe(lane: String) async -> ProbeResult { await lanes[lane]?.probe() ?? .cannotTell }

  /// A worker that was killed may have recorded the verdict.
  public func lookUp(
    _ request: AssessmentRequest, on lane: String, _ attempt: JobAttempt
  ) async -> Classification? {
    do throws(AssessmentMemoryError) {
      return try await memory.verdict(of: request.token.hash, jobID: attempt.jobID)?.classification
    } catch {
      log.warning("memory of assessed tokens cannot be read", [.jobID: attempt.jobID, .error: error.description])
      return nil
    }
  }

  private func classify(
    _ answer: AssessmentAnswer, _ request: AssessmentRequest, _ app: RecaptchaApp, isUncertain: Bool
  ) -> Classification {
    switch answer {
    case .failed(let classification): return classification
    case .assessed(let assessment):
      if isUncertain, assessment.isDuplicate { return .lost(Self.lost) }
      return app.rules.verdict(assessment, expectedAction: request.expectedAction, table: table)
    }
  }

  private func record(
    _ classification: Classification, _ request: AssessmentRequest, _ attempt: JobAttempt, wasUncertain: Bool
  ) async {
    do throws(AssessmentMemoryError) {
      switch classification {
      case .accepted, .refused, .otherLane:
        guard let verdict = AssessmentVerdict(classification) else { return }
        try await memory.record(verdict, of: request.token.hash, jobID: attempt.jobID, now: attempt.startedAt)
      case .retry, .laneDown, .notCalled:
        // An earlier call of the same job may have used the token up, all the same.
        if !wasUncertain { try await memory.release(request.token.hash, jobID: attempt.jobID) }
      case .unknown, .lost, .continued: break
      }
    } catch {
      // The token stays taken, so it still counts once; only the verdict would be lost with the process.
      log.error("verdict cannot be recorded", [.jobID: attempt.jobID, .error: error.description])
    }
  }

  private static let unknownApp = Reason(
    "UNKNOWN_APP", "This worker is not configured to assess reCAPTCHA tokens of this app.")
  private static let noToken = Reason("CAPTCHA_INVALID", "This is no reCAPTCHA token.")
  private static let duplicate = Reason("CAPTCHA_DUPLICATE", "The token was used before; a token counts once.")
  private static let lost = Reason(
    "ASSESSMENT_LOST", "The token was assessed and the answer did not arrive; the app has to get another token.")
}
