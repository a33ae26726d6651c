import CountersignMessages
import CountersignTelemetry
import JobEngine
import TestSupport

@testable import SMS

enum Sample {
  static let now = UnixTime(seconds: 1_782_907_200)

  static func attempt(
    _ jobID: String = "job-1", secondsLeft: Int = 300, timeout: Duration = .seconds(240)
  ) -> JobAttempt {
    JobAttempt(
      job: MessageIdentity(sender: SenderRule.unnamed, messageID: jobID), deadline: now + .seconds(secondsLeft),
      timeout: timeout, startedAt: now)
  }

  static func message(_ text: String = "482913 is your code") -> OutgoingSMS {
    OutgoingSMS(to: "+14155550123", text: SMSText(text), languageCode: "en")
  }
}

extension LaneContext {
  init(
    _ name: String, _ table: ProviderTable, _ http: any HTTPCaller, clock: any WallClock = ManualClock(Sample.now)
  ) {
    self.init(name: name, table: table, http: http, clock: clock)
  }
}

extension Classification {
  var short: String {
    switch self {
    case .accepted(let reference, _): "accepted \(reference ?? "-")"
    case .refused(let reason, _): "refused \(reason.code)"
    case .otherLane(let reason, _): "otherLane \(reason.code)"
    case .retry(let reason, let after): "retry \(reason.code)" + (after.map { " \($0.components.seconds)" } ?? "")
    case .unknown(let reason): "unknown \(reason.code)"
    case .lost(let reason, _): "lost \(reason.code)"
    case .continued(let stage): "continued \(stage.messageID)"
    case .laneDown(let reason): "laneDown \(reason.code)"
    case .notCalled(let reason, let why): "\(why) \(reason.code)"
    }
  }

  var reason: Reason? {
    switch self {
    case .accepted, .continued: nil
    case .refused(let reason, _), .otherLane(let reason, _), .retry(let reason, _), .unknown(let reason),
      .lost(let reason, _), .laneDown(let reason), .notCalled(let reason, _):
      reason
    }
  }
}
