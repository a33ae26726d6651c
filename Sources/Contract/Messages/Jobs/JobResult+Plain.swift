import CountersignTelemetry

extension JobResult {
  /// Nil: anything is not as it should be, which the decoder will say, or is beyond what is read here.
  init?(_ json: PlainJSON) {
    guard json.areTextsOrAbsent("lane", "reference"), let jobID = json.text("jobID"),
      let outcome = json.text("outcome").flatMap(JobOutcome.init(rawValue:)), let attempts = json.integer("attempts"),
      let startedAt = json.text("startedAt").flatMap(UnixTime.init(rfc3339:)),
      let finishedAt = json.text("finishedAt").flatMap(UnixTime.init(rfc3339:)),
      // A reason comes with what went wrong, which is rare.
      !json.has("reason")
    else { return nil }
    self.init(
      jobID: jobID, outcome: outcome, lane: json.text("lane"), reference: json.text("reference"), attempts: attempts,
      startedAt: startedAt, finishedAt: finishedAt, extras: Self.extras(json))
  }

  private static func extras(_ json: PlainJSON) -> [String: Value] {
    var extras: [String: Value] = [:]
    for (name, value) in json.scalars where !isField(name) {
      switch value {
      case .text(let text): extras[name] = .string(text)
      case .integer(let number): extras[name] = .int(number)
      case .bool(let flag): extras[name] = .bool(flag)
      }
    }
    return extras
  }
}
