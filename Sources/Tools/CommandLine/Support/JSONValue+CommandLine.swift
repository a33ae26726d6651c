import CountersignAMQP
import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials

extension JSONValue {
  /// `null` if it cannot be encoded.
  init(encoding value: some Encodable) {
    // Every message of the contract can be encoded.
    guard let data = try? JSONEncoder().encode(value),
      let json = try? JSONReader.commandLine.value(of: data)
    else {
      self = .null
      return
    }
    self = json
  }

  func adding(_ name: String, _ value: JSONValue) -> JSONValue {
    guard case .object(var fields) = self else { return self }
    fields[name] = value
    return .object(fields)
  }

  static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.text) ?? .null }
}

extension JSONValue {
  init(_ value: FieldValue) {
    switch value {
    case .bool(let flag): self = .bool(flag)
    case .int(let number): self = .integer(number)
    // NaN and infinity have no form in JSON.
    case .double(let number): self = number.isFinite ? .number("\(number)") : .text("\(number)")
    case .string(let text): self = .text(text)
    case .bytes(let bytes): self = .text("\(bytes.count) bytes")
    case .timestamp(let seconds): self = .text(UnixTime(seconds: Int64(clamping: seconds)).rfc3339)
    case .array(let values): self = .array(values.map { JSONValue($0) })
    case .table(let fields): self = .object(fields.mapValues { JSONValue($0) })
    case .null: self = .null
    }
  }
}

extension JSONReader {
  /// A list of queues may be long.
  static let commandLine = JSONReader(maxBytes: 16 << 20, allowsRepeatedNames: true)
}
