/// The meaning of a provider's answers for a job: by the provider's own error code, else by HTTP status.
///
/// A table is data, read from `Config/providers/`, because providers add and split codes at will.
public struct ProviderTable: Sendable {
  private let codes: [String: ProviderRule]
  /// Rules by HTTP status (`429`) or its hundred (`4xx`).
  private let statuses: [String: ProviderRule]
  /// Reasons by the code in a delivery report. The list differs from that of the answers.
  private let receipts: [String: ProviderReceiptRule]

  public init(
    codes: [String: ProviderRule] = [:], statuses: [String: ProviderRule] = [:],
    receipts: [String: ProviderReceiptRule] = [:]
  ) {
    self.codes = codes
    self.statuses = statuses
    self.receipts = receipts
  }

  /// Reason for a code in a delivery report, or `nil` if the code is not listed.
  public func receiptReason(code: String) -> Reason? {
    receipts[code].map { Reason($0.reason, $0.detail, providerCode: code) }
  }

  /// Rule for an answer that reports a failure.
  ///
  /// - Parameters:
  ///   - code: provider's own code, if the answer has one.
  ///   - status: HTTP status.
  public func rule(code: String?, status: Int) -> (rule: ProviderRule, isOfCode: Bool) {
    if let code, let rule = codes[code] { return (rule, true) }
    let rule = statuses["\(status)"] ?? statuses["\(status / 100)xx"] ?? Self.fallback(status)
    return (rule, false)
  }

  /// The meaning of an answer that reports a failure.
  ///
  /// - Parameters:
  ///   - status: HTTP status.
  ///   - code: provider's own code, if the answer has one.
  ///   - retryAfter: wait the provider asks for.
  public func classification(status: Int, code: String? = nil, retryAfter: Duration? = nil) -> Classification {
    let (rule, isOfCode) = rule(code: code, status: status)
    let reason = Reason(rule.reason, rule.detail, providerCode: code ?? "HTTP \(status)")
    // A 503 with Retry-After was not processed (RFC 9110, 15.6.4); one without may come from a gateway that lost the
    // answer.
    if status == 503, retryAfter != nil, !isOfCode { return .retry(reason, after: retryAfter) }
    return switch rule.class {
    case .refused: .refused(reason)
    case .otherLane: .otherLane(reason)
    case .retry: .retry(reason, after: retryAfter)
    case .unknown: .unknown(reason)
    case .laneDown: .laneDown(reason)
    }
  }

  /// For a table without the status: 4xx is a refusal, everything else leaves the outcome open.
  private static func fallback(_ status: Int) -> ProviderRule {
    status / 100 == 4
      ? ProviderRule(class: .refused, reason: "PROVIDER_REFUSED", detail: "The provider refused the message.")
      : ProviderRule(
        class: .unknown, reason: "PROVIDER_ERROR", detail: "The provider's answer does not say what happened.")
  }
}

/// One row of a provider's table.
public struct ProviderRule: KeyedPart, Sendable, Hashable {
  /// The meaning of the answer. `accepted` is never in a table.
  public enum Class: String, Decodable, Sendable, CaseIterable { case refused, otherLane, retry, unknown, laneDown }

  public let `class`: Class
  /// Reason code of this system, such as `INVALID_NUMBER`.
  public let reason: String
  /// One sentence for people.
  public let detail: String

  /// Keys of a row.
  public static let keys = CodingKeys.allCases.map(\.rawValue)

  enum CodingKeys: String, CodingKey, CaseIterable { case `class`, reason, detail }

  /// - Parameters:
  ///   - class: meaning of the answer.
  ///   - reason: reason code of this system.
  ///   - detail: one sentence for people.
  public init(class: Class, reason: String, detail: String) {
    self.class = `class`
    self.reason = reason
    self.detail = detail
  }
}

/// One row of a provider's list of codes in delivery reports.
public struct ProviderReceiptRule: KeyedPart, Sendable, Hashable {
  /// Reason code of this system, such as `UNREACHABLE`.
  public let reason: String
  /// One sentence for people.
  public let detail: String

  /// Keys of a row.
  public static let keys = CodingKeys.allCases.map(\.rawValue)

  enum CodingKeys: String, CodingKey, CaseIterable { case reason, detail }

  public init(reason: String, detail: String) {
    self.reason = reason
    self.detail = detail
  }
}
