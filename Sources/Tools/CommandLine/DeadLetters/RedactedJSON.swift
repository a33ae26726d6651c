internal import CountersignEncoding
internal import CountersignTelemetry

/// The body of a message as far as anybody may see it: what could be a secret, a text to a person or a person's data is
/// covered. A dead letter may be malformed, so only fields that are known to be harmless are shown as they are.
enum RedactedJSON {
  /// The body with its values covered; `nil` when it is not JSON.
  static func show(_ body: [UInt8], reveal: Bool) -> JSONValue? {
    // What is not JSON is shown by its length only.
    guard let value = try? JSONReader.operations.decode(JSONValue.self, from: body) else { return nil }
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
    if harmless.contains(field) { return text.cut(toBytes: longest) }
    return "\(Redaction.placeholder) (\(text.count) characters)"
  }

  /// Fields whose value is a phone number.
  private static let phoneNumbers: Set<String> = ["to", "phoneNumber"]

  /// Fields of the contract that hold neither a secret nor a person's data.
  private static let harmless: Set<String> = [
    "app", "attempts", "deadline", "encoding", "environment", "event", "expectedAction", "finishedAt", "jobID",
    "lane", "languageCode", "onUnknown", "operationID", "outcome", "reference", "region", "segments", "startedAt",
    "state", "template", "verificationID",
  ]

  /// Characters of a harmless value that are shown; the field may hold anything in a malformed message.
  private static let longest = 200
}
