import CountersignMessages
import CountersignTelemetry

/// Writes the body of a result without an encoder: `JSONEncoder` takes a tenth of all the time that a job costs.
///
/// What it writes is what `JobResult` reads; a test holds the two together.
enum ResultText {
  /// - Parameter result: What is written. Extras with the name of a field of the result itself are left out, and so are
  ///   numbers that JSON does not have.
  static func bytes(_ result: JobResult) -> [UInt8] {
    var text = JSONText()
    text.put("jobID", result.jobID)
    text.put("outcome", result.outcome.rawValue)
    text.put("lane", result.lane)
    text.put("reference", result.reference)
    if let reason = result.reason { text.put("reason", object: bytes(reason)) }
    text.put("attempts", result.attempts)
    text.put("startedAt", result.startedAt)
    text.put("finishedAt", result.finishedAt)
    // In one order: a result that is published again is the same, byte for byte.
    for (name, value) in result.extras.sorted(by: { $0.key < $1.key }) where !names.contains(name) {
      put(name, value, in: &text)
    }
    return text.finished()
  }

  private static let names: Set<String> = [
    "jobID", "outcome", "lane", "reference", "reason", "attempts", "startedAt", "finishedAt",
  ]

  private static func put(_ name: String, _ value: JobResult.Value, in text: inout JSONText) {
    switch value {
    case .string(let value): text.put(named: name, value)
    case .int(let number): text.put(named: name, literal: number.description)
    case .double(let number): if number.isFinite { text.put(named: name, literal: number.description) }
    case .bool(let flag): text.put(named: name, literal: flag ? "true" : "false")
    }
  }

  private static func bytes(_ reason: JobResult.Reason) -> [UInt8] {
    var text = JSONText()
    text.put("code", reason.code)
    text.put("detail", reason.detail)
    text.put("providerCode", reason.providerCode)
    return text.finished()
  }
}
