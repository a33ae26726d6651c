import CountersignEncoding
import CountersignMessages
import FoundationEssentials
import JobEngine

struct AssessmentVerdict: Codable, Sendable, Hashable {
  private struct Why: Codable, Hashable {
    let code: String
    let detail: String
    let providerCode: String?
  }

  private let reference: String?
  private let refusal: Why?
  private let score: Double?
  private let tollFraudRisk: Double?
  private let action: String?

  init?(_ classification: Classification) {
    let extras: ResultExtras
    switch classification {
    case .accepted(let reference, let more):
      self.reference = reference
      refusal = nil
      extras = more
    case .refused(let reason, let more):
      reference = nil
      refusal = Why(code: reason.code, detail: reason.detail, providerCode: reason.providerCode)
      extras = more
    case .otherLane, .retry, .unknown, .lost, .continued, .laneDown, .notCalled: return nil
    }
    score = extras["score"]?.number
    tollFraudRisk = extras["tollFraudRisk"]?.number
    action = Self.text(extras["action"])
  }

  private static func text(_ value: JobResult.Value?) -> String? {
    if case .string(let text) = value { text } else { nil }
  }

  var classification: Classification {
    var extras: ResultExtras = [:]
    extras["score"] = score.map { .double($0) }
    extras["tollFraudRisk"] = tollFraudRisk.map { .double($0) }
    extras["action"] = action.map { .string($0) }
    guard let refusal else { return .accepted(reference: reference, extras: extras) }
    return .refused(Reason(refusal.code, refusal.detail, providerCode: refusal.providerCode), extras: extras)
  }

  /// A verdict has a few hundred bytes.
  private static let reader = JSONReader(maxBytes: 64 << 10)

  init?(json: [UInt8]) {
    do { self = try Self.reader.decode(AssessmentVerdict.self, from: json) } catch { return nil }
  }

  func json() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }
}
