/// What a provider's answers mean for a job: by its own error code, else by HTTP status.
///
/// It is data, read from `Config/providers/`, because providers add and split codes at will.
public struct ProviderTable: Sendable {
  /// By the provider's own code.
  private let codes: [String: ProviderRule]
  /// By HTTP status (`429`) or its hundred (`4xx`).
  private let statuses: [String: ProviderRule]
  /// By the code in a report of what became of a message: another list than that of the answers.
  private let receipts: [String: ProviderReceiptRule]

  /// - Parameters:
  ///   - codes: Rules by the provider's own code.
  ///   - statuses: Rules by HTTP status (`429`) or its hundred (`4xx`).
  ///   - receipts: Rules by the code in a report.
  public init(
    codes: [String: ProviderRule] = [:], statuses: [String: ProviderRule] = [:],
    receipts: [String: ProviderReceiptRule] = [:]
  ) {
    self.codes = codes
    self.statuses = statuses
    self.receipts = receipts
  }

  /// What the code in a report of what became of a message means; nil for one that the table does not have.
  public func receiptReason(code: String) -> Reason? {
    receipts[code].map { Reason($0.reason, $0.detail, providerCode: code) }
  }

  /// The rule of an answer that is no success.
  ///
  /// - Parameters:
  ///   - code: The provider's own code, when the answer has one.
  ///   - status: The HTTP status.
  public func rule(code: String?, status: Int) -> (rule: ProviderRule, isOfCode: Bool) {
    if let code, let rule = codes[code] { return (rule, true) }
    let rule = statuses["\(status)"] ?? statuses["\(status / 100)xx"] ?? Self.fallback(status)
    return (rule, false)
  }

  /// For a table without the status: a clear refusal is a refusal, everything else leaves open what happened.
  private static func fallback(_ status: Int) -> ProviderRule {
    status / 100 == 4
      ? ProviderRule(class: .refused, reason: "PROVIDER_REFUSED", detail: "The provider refused the message.")
      : ProviderRule(
        class: .unknown, reason: "PROVIDER_ERROR", detail: "The provider's answer does not say what happened.")
  }
}

/// One row of a provider's table.
public struct ProviderRule: KeyedPart, Sendable, Hashable {
  /// What the answer means; `accepted` is never in a table.
  public enum Class: String, Decodable, Sendable, CaseIterable { case refused, otherLane, retry, unknown, laneDown }

  public let `class`: Class
  /// A word of this system, such as `INVALID_NUMBER`.
  public let reason: String
  /// One sentence for people.
  public let detail: String

  /// The keys of a row.
  public static let keys = CodingKeys.allCases.map(\.rawValue)

  enum CodingKeys: String, CodingKey, CaseIterable { case `class`, reason, detail }

  /// - Parameters:
  ///   - class: What the answer means.
  ///   - reason: A word of this system.
  ///   - detail: One sentence for people.
  public init(class: Class, reason: String, detail: String) {
    self.class = `class`
    self.reason = reason
    self.detail = detail
  }
}

/// One row of a provider's list of codes in reports.
public struct ProviderReceiptRule: KeyedPart, Sendable, Hashable {
  /// A word of this system, such as `UNREACHABLE`.
  public let reason: String
  /// One sentence for people.
  public let detail: String

  /// The keys of a row.
  public static let keys = CodingKeys.allCases.map(\.rawValue)

  enum CodingKeys: String, CodingKey, CaseIterable { case reason, detail }

  /// - Parameters:
  ///   - reason: A word of this system.
  ///   - detail: One sentence for people.
  public init(reason: String, detail: String) {
    self.reason = reason
    self.detail = detail
  }
}
