internal import CountersignAMQP
internal import CountersignTelemetry

extension JSONValue {
  /// The value of a header.
  init(_ value: FieldValue) {
    switch value {
    case .bool(let flag): self = .bool(flag)
    case .int(let number): self = .integer(number)
    case .double(let number): self = .number(number)
    case .string(let text): self = .text(text)
    case .bytes(let bytes): self = .text("\(bytes.count) bytes")
    case .timestamp(let seconds): self = .text(UnixTime(seconds: Int64(clamping: seconds)).rfc3339)
    case .array(let values): self = .array(values.map { JSONValue($0) })
    case .table(let fields): self = .object(fields.mapValues { JSONValue($0) })
    case .null: self = .null
    }
  }
}
