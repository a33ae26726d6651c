/// An HTTP answer of a provider that is no success, reduced to what its classification needs.
public struct ProviderAnswer: Sendable, Hashable {
  /// The HTTP status.
  public let status: Int
  /// The provider's own code, when the answer has one.
  public var code: String?
  /// The wait that the provider asks for.
  public var retryAfter: Duration?

  /// - Parameters:
  ///   - status: The HTTP status.
  ///   - code: The provider's own code, when the answer has one.
  ///   - retryAfter: The wait that the provider asks for.
  public init(status: Int, code: String? = nil, retryAfter: Duration? = nil) {
    self.status = status
    self.code = code
    self.retryAfter = retryAfter
  }

  /// What the answer means.
  ///
  /// - Parameter table: The provider's table.
  public func classification(_ table: ProviderTable) -> Classification {
    let (rule, isOfCode) = table.rule(code: code, status: status)
    let reason = Reason(rule.reason, rule.detail, providerCode: code ?? "HTTP \(status)")
    // A 503 that says when to come back was not processed (RFC 9110, 15.6.4); one that does not may be a gateway's, which
    // lost the answer.
    if status == 503, retryAfter != nil, !isOfCode { return .retry(reason, after: retryAfter) }
    switch rule.class {
    case .refused: return .refused(reason)
    case .otherLane: return .otherLane(reason)
    case .retry: return .retry(reason, after: retryAfter)
    case .unknown: return .unknown(reason)
    case .laneDown: return .laneDown(reason)
    }
  }
}
