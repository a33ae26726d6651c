import CountersignMessages
import CountersignTelemetry

extension JobResult {
  /// The optional fields that are present.
  private struct Presence: OptionSet {
    let rawValue: UInt8
    static let jobID = Presence(rawValue: 1)
    static let lane = Presence(rawValue: 2)
    static let reference = Presence(rawValue: 4)
    static let reason = Presence(rawValue: 8)
    static let detail = Presence(rawValue: 16)
    static let providerCode = Presence(rawValue: 32)
  }

  /// Outcomes and kinds of values by their index in these lists, which are only ever appended to.
  private static let outcomes: [JobOutcome] = [.accepted, .refused, .expired, .unknown]

  private enum Tag {
    static let string: UInt8 = 0
    static let int: UInt8 = 1
    static let double: UInt8 = 2
    static let no: UInt8 = 3
    static let yes: UInt8 = 4
  }

  func write(to writer: inout RecordWriter, messageID: String) {
    var presence: Presence = jobID == messageID ? [] : .jobID
    if lane != nil { presence.insert(.lane) }
    if reference != nil { presence.insert(.reference) }
    if reason != nil { presence.insert(.reason) }
    if reason?.detail != nil { presence.insert(.detail) }
    if reason?.providerCode != nil { presence.insert(.providerCode) }
    writer.put(presence.rawValue)
    writer.put(UInt64(Self.outcomes.firstIndex(of: outcome) ?? Self.outcomes.count))
    if presence.contains(.jobID) { writer.put(jobID) }
    for text in [lane, reference, reason?.code, reason?.detail, reason?.providerCode] {
      if let text { writer.put(text) }
    }
    writer.put(signed: Int64(attempts))
    writer.put(signed: startedAt.milliseconds)
    writer.put(signed: finishedAt.milliseconds &- startedAt.milliseconds)
    writer.put(UInt64(extras.count))
    for (name, value) in extras {
      writer.put(name)
      Self.put(value, to: &writer)
    }
  }

  init(_ reader: inout RecordReader, messageID: String) throws(ContractProblem) {
    let presence = Presence(rawValue: try reader.byte())
    let place = try reader.number()
    guard place < UInt64(Self.outcomes.count) else { throw RecordReader.damaged }
    func text(_ part: Presence) throws(ContractProblem) -> String? { presence.contains(part) ? try reader.text() : nil }
    let jobID = try text(.jobID)
    let (lane, reference, code) = (try text(.lane), try text(.reference), try text(.reason))
    let (detail, providerCode) = (try text(.detail), try text(.providerCode))
    let attempts = try reader.signed()
    let startedAt = try reader.signed()
    let took = try reader.signed()
    self.init(
      jobID: jobID ?? messageID, outcome: Self.outcomes[Int(place)], lane: lane, reference: reference,
      reason: code.map { Reason(code: $0, detail: detail, providerCode: providerCode) }, attempts: Int(attempts),
      startedAt: UnixTime(milliseconds: startedAt), finishedAt: UnixTime(milliseconds: startedAt &+ took))
    for _ in 0..<(try reader.number()) {
      let name = try reader.text()
      extras[name] = try Self.value(&reader)
    }
  }

  private static func put(_ value: Value, to writer: inout RecordWriter) {
    switch value {
    case .string(let text):
      writer.put(Tag.string)
      writer.put(text)
    case .int(let number):
      writer.put(Tag.int)
      writer.put(signed: Int64(number))
    case .double(let number):
      writer.put(Tag.double)
      writer.put(number.bitPattern)
    case .bool(let flag): writer.put(flag ? Tag.yes : Tag.no)
    }
  }

  private static func value(_ reader: inout RecordReader) throws(ContractProblem) -> Value {
    switch try reader.byte() {
    case Tag.string: .string(try reader.text())
    case Tag.int: .int(Int(try reader.signed()))
    case Tag.double: .double(Double(bitPattern: try reader.number()))
    case Tag.no: .bool(false)
    case Tag.yes: .bool(true)
    default: throw RecordReader.damaged
    }
  }
}
