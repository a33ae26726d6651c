import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// A record is less than half the size of its JSON.
enum RecordedEnding: Sendable, Hashable {
  case result(JobResult)
  case stage(NextStage)

  init(_ record: [UInt8], of messageID: String) throws(ContractProblem) {
    do throws(UnreadableFields) {
      var fields = try FieldCoder(reading: record)
      self = try Self(&fields, nil, of: messageID)
    } catch {
      throw Self.unreadable
    }
  }

  func record(of messageID: String) -> [UInt8] {
    var fields = FieldCoder(capacity: 128)
    // Nothing is absent while writing, so nothing is thrown.
    _ = try? Self(&fields, self, of: messageID)
    return fields.bytes
  }

  var text: String {
    switch self {
    case .result(let result): result.outcome.rawValue
    case .stage: "continued"
    }
  }
}

extension RecordedEnding {
  /// Names every field once, for both directions. A tag never changes its meaning. The last field is required: a record
  /// that was cut short lacks it.
  private init(_ fields: inout FieldCoder, _ ending: Self?, of messageID: String) throws(UnreadableFields) {
    var (result, stage): (JobResult?, NextStage?) = (nil, nil)
    switch ending {
    case .result(let value): result = value
    case .stage(let value): stage = value
    case nil: break
    }
    if let nextID = fields.optional(1, stage?.messageID) {
      self = .stage(NextStage(messageID: nextID, body: try fields.required(2, stage?.body)))
      return
    }
    let otherID: String? = result?.jobID == messageID ? nil : result?.jobID
    let jobID = fields.optional(3, otherID)
    let outcome = try fields.required(4, result?.outcome)
    let (lane, reference) = (fields.optional(5, result?.lane), fields.optional(6, result?.reference))
    let (code, detail) = (fields.optional(7, result?.reason?.code), fields.optional(8, result?.reason?.detail))
    let providerCode = fields.optional(9, result?.reason?.providerCode)
    let extras = try fields.list(10, result?.extras.map { Extra(name: $0.key, value: $0.value) })
    var read = JobResult(
      jobID: jobID ?? messageID, outcome: outcome, lane: lane, reference: reference,
      reason: code.map { JobResult.Reason(code: $0, detail: detail, providerCode: providerCode) },
      attempts: try fields.required(11, result?.attempts), startedAt: try fields.required(12, result?.startedAt),
      finishedAt: try fields.required(13, result?.finishedAt))
    for extra in extras { read.extras[extra.name] = extra.value }
    self = .result(read)
  }

  fileprivate struct Extra {
    var name: String
    var value: JobResult.Value
  }

  static let unreadable = ContractProblem(
    .unreadableRecord,
    "ended before, but the ledger's record of its outcome cannot be read: a newer version wrote it, or it is damaged")
}

extension RecordedEnding.Extra: FieldCoded {
  init(_ fields: inout FieldCoder, _ extra: Self?) throws(UnreadableFields) {
    name = try fields.required(1, extra?.name)
    var (text, number, bits, flag): (String?, Int?, Int?, Int?) = (nil, nil, nil, nil)
    switch extra?.value {
    case .string(let value): text = value
    case .int(let value): number = value
    case .double(let value): bits = Int(truncatingIfNeeded: value.bitPattern)
    case .bool(let value): flag = value ? 1 : 0
    case nil: break
    }
    if let text = fields.optional(2, text) {
      value = .string(text)
    } else if let number = fields.optional(3, number) {
      value = .int(number)
    } else if let bits = fields.optional(4, bits) {
      value = .double(Double(bitPattern: UInt64(truncatingIfNeeded: bits)))
    } else {
      value = .bool(try fields.required(5, flag) != 0)
    }
  }
}

extension ContractProblem.Code {
  static let unreadableRecord = ContractProblem.Code("UNREADABLE_RECORD")
}
