import CountersignEncoding
import CountersignTelemetry

/// A dead letter may be malformed, so only fields known to be harmless are shown unchanged.
enum RedactedJSON {
  /// `nil` if the body is not JSON.
  static func show(_ body: [UInt8], reveal: Bool) -> JSONValue? {
    // Of a body that is not JSON, the caller shows the length only.
    guard let value = try? JSONReader.commandLine.value(of: body) else { return nil }
    return reveal ? value : cover(value, field: nil)
  }

  private static func cover(_ value: JSONValue, field: String?) -> JSONValue {
    switch value {
    case .object(let object):
      return .object(Dictionary(uniqueKeysWithValues: object.map { ($0.key, cover($0.value, field: $0.key)) }))
    case .array(let array): return .array(array.map { cover($0, field: field) })
    case .null, .bool: return value
    case .text(let text): return .text(cover(text, field: field))
    case .integer, .number: return field.map(harmless.contains) == true ? value : .text(Redaction.placeholder)
    }
  }

  private static func cover(_ text: String, field: String?) -> String {
    guard let field else { return Redaction.placeholder }
    if phoneNumbers.contains(field) { return Redaction.phoneNumber(text) }
    if harmless.contains(field) { return text.cut(toBytes: maxShownBytes) }
    return "\(Redaction.placeholder) (\(text.count) characters)"
  }

  private static let phoneNumbers: Set<String> = ["to", "phoneNumber"]

  /// Fields of the contract that hold neither a secret nor personal data.
  private static let harmless: Set<String> = [
    "app", "attempts", "deadline", "encoding", "environment", "event", "expectedAction", "finishedAt", "jobID",
    "lane", "languageCode", "onUnknown", "operationID", "outcome", "reference", "region", "segments", "startedAt",
    "state", "template", "verificationID",
  ]

  /// In a malformed message the field may hold anything.
  private static let maxShownBytes = 200
}
