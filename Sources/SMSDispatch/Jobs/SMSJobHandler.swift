public import JOSE
public import Messages
import PhoneNumbers
import Telemetry
public import WorkerRuntime

/// Makes an `sms.dispatch` job into a short message and hands it to a lane.
///
/// What the sender got wrong about the recipient, the text or the template is `refused`: the job's result says so. What breaks
/// the contract of messages (a sealed code that belongs to another message) is `invalid`: a dead letter.
public struct SMSJobHandler: JobHandler {
  public typealias Body = SMSDispatchJob
  public typealias Job = OutgoingSMS

  /// In the order in which they are tried.
  private let routes: [LaneRoute]
  private let lanes: [String: any SMSLane]
  private let composer: SMSComposer

  /// - Parameters:
  ///   - routes: The lanes in the order in which they are tried; their names differ.
  ///   - templates: The texts.
  ///   - keys: Opens sealed codes; with an empty one a sealed code is a dead letter.
  ///   - limits: The bounds of one message.
  ///   - appName: The name for jobs that bring none.
  public init(
    routes: [LaneRoute], templates: SMSTemplates, keys: KeyRing, limits: SMSLimits = SMSLimits(),
    appName: String? = nil
  ) {
    self.routes = routes
    self.lanes = Dictionary(routes.map { ($0.lane.name, $0.lane) }, uniquingKeysWith: { first, _ in first })
    self.composer = SMSComposer(templates: templates, keys: keys, limits: limits, appName: appName)
  }

  public func prepare(_ body: SMSDispatchJob, of message: JobMessage) -> Preparation<OutgoingSMS> {
    let number: PhoneNumber
    switch Recipient.check(body.to) {
    case .success(let recipient): number = recipient
    case .failure(let problem): return .refused(problem.reason)
    }
    let candidates = candidates(for: number, pinned: body.lane)
    guard !candidates.isEmpty else { return .refused(noLane(body.lane, number)) }
    switch composer.compose(body, messageID: message.messageID) {
    case .invalid(let problem): return .invalid(problem)
    case .refused(let reason): return .refused(reason)
    case .text(let text): return ready(body, number, text, candidates)
    }
  }

  private func ready(
    _ body: SMSDispatchJob, _ number: PhoneNumber, _ text: SMSText, _ candidates: [any SMSLane]
  ) -> Preparation<OutgoingSMS> {
    let names = candidates.map(\.name)
    let sms = OutgoingSMS(to: number.e164, text: text, languageCode: body.languageCode, lanes: names)
    // Where a repetition is harmless for certain, nobody has to be asked whether it is.
    let isHarmless = candidates.count == 1 && candidates[0].deduplicates
    return .ready(
      PreparedJob(
        sms, lanes: names, deadline: body.deadline,
        onUnknown: isHarmless || body.onUnknown == .resend ? .resend : .report,
        extras: ["segments": .int(text.segments), "encoding": .string(text.encoding.rawValue)]))
  }

  private func candidates(for number: PhoneNumber, pinned name: String?) -> [any SMSLane] {
    if let name { return lanes[name].map { [$0] } ?? [] }
    return routes.filter { $0.serves(number.routingRegion) }.map(\.lane)
  }

  private func noLane(_ name: String?, _ number: PhoneNumber) -> Reason {
    if name != nil {
      let known = routes.map(\.lane.name).joined(separator: ", ")
      return Reason("UNKNOWN_LANE", "This worker has no lane of the name that the job asks for; it has: \(known).")
    }
    return Reason("NO_ROUTE", "No lane of this worker serves the region \(number.routingRegion ?? "of this number").")
  }

  public func perform(_ job: OutgoingSMS, on lane: String, _ attempt: JobAttempt) async -> Classification {
    guard let lane = lanes[lane] else {
      return .retry(Reason("UNKNOWN_LANE", "This worker has no such lane."))
    }
    return await lane.send(job, attempt)
  }

  public func lookUp(_ job: OutgoingSMS, on lane: String, _ attempt: JobAttempt) async -> Classification? {
    await lanes[lane]?.lookUp(job, attempt)
  }

  public func probe(lane: String) async -> ProbeResult { await lanes[lane]?.probe() ?? .cannotTell }
}

extension PhoneNumber {
  /// The region by which lanes are chosen. Where several share a country code and the number is too new to be told, the main one.
  fileprivate var routingRegion: String? { region ?? countryCodeRegion }
}

extension SMSDispatchJob {
  /// The language that the job asks for, if it has a template.
  fileprivate var languageCode: String? {
    if case .template(_, let languageCode, _) = content { languageCode } else { nil }
  }
}
