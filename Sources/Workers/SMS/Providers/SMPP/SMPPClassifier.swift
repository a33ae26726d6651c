import JobEngine
import SMPP

struct SMPPClassifier: Sendable {
  /// Rules by `command_status`, written as `0x00000058`.
  let table: ProviderTable

  func classification(_ error: SMPPError, taken: Int = 0, of total: Int = 1) -> Classification {
    let verdict = verdict(error)
    guard taken > 0 else {
      switch error.kind {
      case .invalidMessage: return .notCalled(verdict.reason, .impossible)
      case .overloaded where !error.mayHaveBeenTaken: return .notCalled(verdict.reason, .busy)
      default: return verdict.classification
      }
    }
    let reason = Self.partly(verdict.reason, taken, total)
    switch verdict.class {
    // Sent again by any lane, the first segments would arrive twice.
    case .refused, .otherLane: return .refused(reason)
    case .retry, .unknown, .laneDown: return .unknown(reason)
    }
  }

  private static func partly(_ reason: Reason, _ taken: Int, _ total: Int) -> Reason {
    Reason(
      "PARTLY_TAKEN", "\(taken) of \(total) segments were accepted; then: \(reason.code): \(reason.detail)",
      providerCode: reason.providerCode)
  }

  func reason(_ error: SMPPError) -> Reason { verdict(error).reason }

  private struct Verdict {
    let `class`: ProviderRule.Class
    let reason: Reason
    var retryAfter: Duration?

    init(_ class: ProviderRule.Class, _ reason: Reason, retryAfter: Duration? = nil) {
      self.class = `class`
      self.reason = reason
      self.retryAfter = retryAfter
    }

    init(_ rule: ProviderRule, _ status: CommandStatus) {
      self.init(rule.class, Reason(rule.reason, rule.detail, providerCode: status.description))
    }

    var classification: Classification {
      switch self.class {
      case .refused: .refused(reason)
      case .otherLane: .otherLane(reason)
      case .retry: .retry(reason, after: retryAfter)
      case .unknown: .unknown(reason)
      case .laneDown: .laneDown(reason)
      }
    }
  }

  private func verdict(_ error: SMPPError) -> Verdict {
    switch error.kind {
    case .refused(let status): Verdict(rule(status) ?? Self.unlisted, status)
    case .bindRefused(let status): bindRefused(status)
    case .throttled(let pause):
      Verdict(
        .retry, Reason("PROVIDER_THROTTLED", "The server accepts no more messages at the moment."), retryAfter: pause)
    case .invalidMessage:
      Verdict(.refused, Reason("INVALID_MESSAGE", "The message cannot be written as SMPP: \(error.description)"))
    case .notConnected, .tls, .timedOut, .connectionLost, .overloaded, .protocolViolation, .canceled, .closed:
      error.mayHaveBeenTaken
        ? Verdict(.unknown, Reason("NO_ANSWER", "The server did not answer: \(error.description)"))
        : Verdict(.retry, Self.notConnected(error))
    }
  }

  private static func notConnected(_ error: SMPPError) -> Reason {
    switch error.kind {
    case .timedOut, .overloaded:
      Reason("LANE_BUSY", "The message did not get its turn: \(error.description)")
    default: Reason("NOT_CONNECTED", "The server could not be reached: \(error.description)")
    }
  }

  /// A bind that is refused for the server's own reason may succeed later.
  private func bindRefused(_ status: CommandStatus) -> Verdict {
    if let rule = rule(status), rule.class == .laneDown { return Verdict(rule, status) }
    return Verdict(
      .retry, Reason("NOT_CONNECTED", "The server does not admit this account.", providerCode: status.description))
  }

  private func rule(_ status: CommandStatus) -> ProviderRule? {
    let (rule, isOfCode) = table.rule(code: status.description, status: Self.noStatus)
    return isOfCode ? rule : nil
  }

  /// Status for the table's lookup: SMPP has no HTTP status to fall back on.
  private static let noStatus = 0

  /// Rule for a status that the table lacks: another server may take the message.
  private static let unlisted = ProviderRule(
    class: .otherLane, reason: "PROVIDER_REFUSED",
    detail: "The server refused the message with a status that providers/smpp.json5 does not list.")
}
