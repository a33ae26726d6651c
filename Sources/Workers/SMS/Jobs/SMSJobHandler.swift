import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import JobEngine

/// Turns an `sms.dispatch` job into an SMS and hands it to a lane.
///
/// A job with a wrong recipient, text or template is `refused`, which its result reports. A job that breaks the message
/// contract (a sealed code of another message) is `invalid`, and becomes a dead letter.
struct SMSJobHandler: JobHandler {
  typealias Body = SMSDispatchJob
  typealias Job = OutgoingSMS

  /// Routes in the order in which they are tried.
  private let routes: [LaneRoute]
  private let lanes: [String: any SMSLane]
  private let recipients: RecipientRules
  private let table: RouteTable
  /// By the name of a lane that may make any.
  private let textOptions: [String: TextOptions]
  private let composer: SMSComposer

  /// - Parameters:
  ///   - routes: routes in the order in which they are tried; the names of their lanes differ.
  ///   - keys: opens sealed codes; with an empty one a sealed code is a dead letter.
  init(
    routes: [LaneRoute], recipients: RecipientRules, templates: SMSTemplates, keys: KeyRing,
    limits: SMSLimits = SMSLimits(), appName: String? = nil
  ) {
    self.routes = routes
    self.recipients = recipients
    self.lanes = Dictionary(routes.map { ($0.lane.name, $0.lane) }, uniquingKeysWith: { first, _ in first })
    self.table = RouteTable(routes)
    self.textOptions = Dictionary(
      routes.filter { $0.text != .none }.map { ($0.lane.name, $0.text) }, uniquingKeysWith: { first, _ in first })
    self.composer = SMSComposer(templates: templates, keys: keys, limits: limits, appName: appName)
  }

  func prepare(_ body: SMSDispatchJob, of message: JobMessage) -> Preparation<OutgoingSMS> {
    let region: String
    switch recipients.judge(body.to) {
    case .allowed(let found): region = found
    case .refused(let problem): return .refused(problem)
    }
    let candidates: [any SMSLane]
    switch candidateLanes(body, message.messageID, region) {
    case .success(let lanes): candidates = lanes
    case .failure(let problem): return .refused(problem.reason)
    }
    switch composer.compose(body, messageID: message.messageID) {
    case .invalid(let problem): return .invalid(problem)
    case .refused(let reason): return .refused(reason)
    case .text(let text): return ready(body, text, candidates)
    }
  }

  private func ready(
    _ body: SMSDispatchJob, _ text: SMSText, _ candidates: [any SMSLane]
  ) -> Preparation<OutgoingSMS> {
    let names = candidates.map(\.name)
    let sms = OutgoingSMS(to: body.to, text: text, languageCode: body.languageCode)
    // If the only lane deduplicates, a repetition is certainly harmless.
    let isHarmless = candidates.count == 1 && candidates[0].deduplicates
    return .ready(
      sms,
      JobFacts(
        lanes: names, deadline: body.deadline, onUnknown: isHarmless ? .resend : .sender(body.onUnknown),
        extras: text.extras))
  }

  private struct NoLane: Error { let reason: Reason }

  private func candidateLanes(
    _ body: SMSDispatchJob, _ jobID: String, _ region: String
  ) -> Result<[any SMSLane], NoLane> {
    if let name = body.lane {
      guard let route = routes.first(where: { $0.lane.name == name }) else {
        return .failure(NoLane(reason: unknownLane))
      }
      guard route.allowsPinned || route.rules.admit(number: body.to, app: body.app, region: { region }) else {
        return .failure(NoLane(reason: Self.laneNotAllowed))
      }
      return .success([route.lane])
    }
    let candidates = table.lanes(to: body.to, app: body.app, jobID: jobID) { region }
    guard !candidates.isEmpty else { return .failure(NoLane(reason: Self.noRoute)) }
    return .success(candidates)
  }

  private static let noRoute = Reason(
    "NO_ROUTE", "No lane of this worker accepts messages to this number, or of this app.")

  private static let laneNotAllowed = Reason(
    "LANE_NOT_ALLOWED", "The lane that the job asks for does not accept messages to this number, or of this app.")

  private var unknownLane: Reason {
    let known = routes.map(\.lane.name).joined(separator: ", ")
    return Reason("UNKNOWN_LANE", "This worker has no lane with the name that the job asks for; it has: \(known).")
  }

  func perform(_ job: OutgoingSMS, on lane: String, _ attempt: JobAttempt) async -> Classification {
    guard let lane = lanes[lane] else {
      return .retry(Reason("UNKNOWN_LANE", "This worker has no such lane."))
    }
    guard let options = textOptions[lane.name] else { return await lane.send(job, attempt) }
    let shortened = OutgoingSMS(to: job.to, text: job.text.shortened(options), languageCode: job.languageCode)
    return await lane.send(shortened, attempt).adding(shortened.text.extras)
  }

  func lookUp(_ job: OutgoingSMS, on lane: String, _ attempt: JobAttempt) async -> Classification? {
    await lanes[lane]?.lookUp(job, attempt)
  }

  func probe(lane: String) async -> ProbeResult { await lanes[lane]?.probe() ?? .cannotTell }
}

extension SMSText {
  fileprivate var extras: ResultExtras {
    var extras: ResultExtras = ["segments": .int(segments), "encoding": .string(encoding.rawValue)]
    extras["nationalLanguage"] = shift?.language.map { .string("\($0)") }
    return extras
  }
}

extension Classification {
  /// Adds properties of the text that was sent, which may differ from the one that was prepared.
  fileprivate func adding(_ extras: ResultExtras) -> Classification {
    guard case .accepted(let reference, let own) = self else { return self }
    return .accepted(reference: reference, extras: extras.merging(own) { _, own in own })
  }
}

extension SMSDispatchJob {
  fileprivate var languageCode: String? {
    if case .template(_, let languageCode, _) = content { languageCode } else { nil }
  }
}
