import CountersignCryptography
public import CountersignMessages
import CountersignTelemetry
public import JobEngine
import RecordStore

/// Has reCAPTCHA tokens assessed, and judges the assessments by the rules of the app.
///
/// A token is claimed in the memory before it is assessed, and its verdict recorded before it is published, so it
/// counts once. If an answer was lost and reCAPTCHA calls our second question a duplicate, the outcome is `unknown`,
/// not a refusal.
public struct RecaptchaJobHandler: JobHandler {
  public typealias Body = RecaptchaAssessJob
  public typealias Job = AssessmentRequest

  private let apps: [String: RecaptchaApp]
  private let lanes: [String: any ProviderLane<AssessmentCall>]
  private let keys: KeyRing
  private let memory: PushMemory
  private let logger: Logger

  init(
    apps: [String: RecaptchaApp], lanes: [any ProviderLane<AssessmentCall>], keys: KeyRing,
    memory: PushMemory, logger: Logger
  ) {
    self.apps = apps
    self.lanes = Dictionary(lanes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    self.keys = keys
    self.memory = memory
    self.logger = logger
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
      // A second question is harmless: the answer shows whether the token was assessed before.
      return .ready(request, JobFacts(lanes: [app.lane], deadline: body.deadline, onUnknown: .resend))
    } catch {
      return .invalid(error)
    }
  }

  public func perform(_ request: AssessmentRequest, on lane: String, _ attempt: JobAttempt) async -> Classification {
    guard let lane = lanes[lane], let app = apps[request.app] else { return .refused(Self.unknownApp) }
    let isUncertain: Bool
    do throws(StoreError) {
      switch try await memory.begin(request.token.hash, jobID: attempt.jobID, now: attempt.startedAt) {
      case .fresh: isUncertain = false
      case .uncertain: isUncertain = true
      case .assessed(let verdict): return verdict.classification
      case .spent: return .refused(Self.duplicate)
      }
    } catch {
      return .retry(Reason("MEMORY_UNAVAILABLE", "The memory of assessed tokens cannot be written: \(error)"))
    }
    let call = AssessmentCall(request: request, app: app, isUncertain: isUncertain)
    let classification = await lane.send(call, attempt)
    await record(classification, request, attempt, wasUncertain: isUncertain)
    return classification
  }

  public func probe(lane: String) async -> ProbeResult { await lanes[lane]?.probe() ?? .cannotTell }

  /// The verdict, if the worker that was killed recorded it.
  public func lookUp(
    _ request: AssessmentRequest, on lane: String, _ attempt: JobAttempt
  ) async -> Classification? {
    do throws(StoreError) {
      return try await memory.verdict(of: request.token.hash, jobID: attempt.jobID)?.classification
    } catch {
      logger.warning("memory of assessed tokens cannot be read", [.jobID: attempt.jobID, .error: error.description])
      return nil
    }
  }

  private func record(
    _ classification: Classification, _ request: AssessmentRequest, _ attempt: JobAttempt, wasUncertain: Bool
  ) async {
    do throws(StoreError) {
      switch classification {
      case .accepted, .refused, .otherLane:
        guard let verdict = AssessmentVerdict(classification) else { return }
        try await memory.record(verdict, of: request.token.hash, jobID: attempt.jobID, now: attempt.startedAt)
      case .retry, .laneDown, .notCalled:
        // An earlier call of the same job may have used the token up nevertheless.
        if !wasUncertain { try await memory.release(request.token.hash, jobID: attempt.jobID) }
      case .unknown, .lost, .continued: break
      }
    } catch {
      // The token stays claimed, so it still counts once; only the verdict would be lost with the process.
      logger.error("verdict cannot be recorded", [.jobID: attempt.jobID, .error: error.description])
    }
  }

  private static let unknownApp = Reason(
    "UNKNOWN_APP", "This worker is not configured to assess reCAPTCHA tokens of this app.")
  private static let noToken = Reason("CAPTCHA_INVALID", "The text is not a reCAPTCHA token.")
  private static let duplicate = Reason("CAPTCHA_DUPLICATE", "The token was used before; a token counts once.")
}
