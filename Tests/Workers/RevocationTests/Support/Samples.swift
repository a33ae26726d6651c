import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import JobEngine
import TestSupport

@testable import Revocation

enum Samples {
  static let now = UnixTime(seconds: 1_782_907_200)
  static let app = "com.example.app"
  static let service = "com.example.web"
  static let teamID = "EXAMPLE001"
  static let keyID = "SIWAKEY001"

  static let keyFile = SampleKeys.p256
  static let otherKeyFile = SampleKeys.otherP256

  static func signingKey(_ file: String = keyFile, id: String = keyID) throws -> SigningKey {
    try SigningKey(file: Array(file.utf8), id: id)
  }

  static func secret(
    key: String = keyFile, keyID: String = keyID, teamID: String = teamID, clientID: String = app
  ) throws -> ClientSecret {
    ClientSecret(teamID: teamID, clientID: clientID, key: try signingKey(key, id: keyID))
  }

  static let configDirectory =
    Repository.config

  static func table() throws -> ProviderTable { try ProviderTable(file: configDirectory + "/providers/apple.json5") }

  static func keys(_ ids: String...) throws -> KeyRing {
    let keys = try ids.map { try SymmetricKey(id: $0, bytes: Array(repeating: UInt8($0.utf8.count), count: 32)) }
    return try KeyRing(sealing: keys.first, others: Array(keys.dropFirst()))
  }

  static func message(_ id: String = "job-1", stageOf: String? = nil) -> JobMessage {
    JobMessage(messageID: id, messageType: AppleRevokeJob.type, stageOf: stageOf, receivedAt: now)
  }

  static func attempt(_ id: String = "job-1", unknownCalls: Int = 0, timeout: Duration = .patience) -> JobAttempt {
    JobAttempt(
      job: MessageIdentity(sender: SenderRule.unnamed, messageID: id), deadline: now + .seconds(300), timeout: timeout,
      startedAt: now, unknownCalls: unknownCalls)
  }
}

extension Classification {
  var short: String {
    switch self {
    case .accepted: "accepted"
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

  var detail: String {
    switch self {
    case .accepted, .continued: ""
    case .refused(let reason, _), .otherLane(let reason, _), .retry(let reason, _), .unknown(let reason),
      .lost(let reason, _), .laneDown(let reason), .notCalled(let reason, _):
      reason.detail
    }
  }
}

extension Preparation {
  var short: String {
    switch self {
    case .ready(_, let facts): "ready \(facts.lanes.joined(separator: ","))"
    case .refused(let reason, _): "refused \(reason.code)"
    case .invalid(let problem): "invalid \(problem.code)"
    }
  }

  var ready: (job: Job, facts: JobFacts)? {
    if case .ready(let job, let facts) = self { (job, facts) } else { nil }
  }
}
