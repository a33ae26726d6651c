import CountersignTelemetry

extension JobResult: Codable {
  private enum Field: String, CaseIterable {
    case jobID, outcome, lane, reference, reason, attempts, startedAt, finishedAt

    var key: FieldName { FieldName(rawValue) }
  }

  static func isField(_ name: String) -> Bool { Field(rawValue: name) != nil }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: FieldName.self)
    jobID = try fields.decode(String.self, forKey: Field.jobID.key)
    outcome = try fields.decode(JobOutcome.self, forKey: Field.outcome.key)
    lane = try fields.decodeIfPresent(String.self, forKey: Field.lane.key)
    reference = try fields.decodeIfPresent(String.self, forKey: Field.reference.key)
    reason = try fields.decodeIfPresent(Reason.self, forKey: Field.reason.key)
    attempts = try fields.decode(Int.self, forKey: Field.attempts.key)
    startedAt = try fields.decode(UnixTime.self, forKey: Field.startedAt.key)
    finishedAt = try fields.decode(UnixTime.self, forKey: Field.finishedAt.key)
    extras = [:]
    for key in fields.allKeys where Field(rawValue: key.stringValue) == nil {
      // Anything but a scalar comes from a later version of the contract and is ignored like any unknown field.
      if let value = Value(fields, key) { extras[key.stringValue] = value }
    }
  }

  /// Extras with the name of a field of the result itself are left out.
  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: FieldName.self)
    try fields.encode(jobID, forKey: Field.jobID.key)
    try fields.encode(outcome, forKey: Field.outcome.key)
    try fields.encodeIfPresent(lane, forKey: Field.lane.key)
    try fields.encodeIfPresent(reference, forKey: Field.reference.key)
    try fields.encodeIfPresent(reason, forKey: Field.reason.key)
    try fields.encode(attempts, forKey: Field.attempts.key)
    try fields.encode(startedAt, forKey: Field.startedAt.key)
    try fields.encode(finishedAt, forKey: Field.finishedAt.key)
    for (name, value) in extras where Field(rawValue: name) == nil {
      switch value {
      case .string(let text): try fields.encode(text, forKey: FieldName(name))
      case .int(let number): try fields.encode(number, forKey: FieldName(name))
      case .double(let number): try fields.encode(number, forKey: FieldName(name))
      case .bool(let flag): try fields.encode(flag, forKey: FieldName(name))
      }
    }
  }
}

extension JobResult.Value {
  /// The scalar under a key. `nil` for anything else.
  ///
  /// The decoder does not say which type a value has, and each wrong guess costs microseconds: fields that are known to
  /// be numbers are first tried as numbers, all others as text. The errors of wrong guesses are dropped on purpose;
  /// after the last guess the field is left out.
  fileprivate init?(_ fields: KeyedDecodingContainer<FieldName>, _ key: FieldName) {
    if Self.wholeNumbers.contains(key.stringValue), let number = try? fields.decode(Int.self, forKey: key) {
      self = .int(number)
    } else if let text = try? fields.decode(String.self, forKey: key) {
      self = .string(text)
    } else if let number = try? fields.decode(Int.self, forKey: key) {
      self = .int(number)
    } else if let number = try? fields.decode(Double.self, forKey: key) {
      self = .double(number)
    } else if let flag = try? fields.decode(Bool.self, forKey: key) {
      self = .bool(flag)
    } else {
      return nil
    }
  }

  private static let wholeNumbers: Set = ["segments"]
}

extension JobResult.Value: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(integerLiteral value: Int) { self = .int(value) }
  public init(floatLiteral value: Double) { self = .double(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}
