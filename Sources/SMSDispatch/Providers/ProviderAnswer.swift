import WorkerRuntime

/// An HTTP answer of a provider that is no success, reduced to what its classification needs.
struct ProviderAnswer: Sendable, Hashable {
  /// The HTTP status.
  let status: Int
  /// The provider's own code, when the answer has one.
  var code: String?
  /// The wait that the provider asks for.
  var retryAfter: Duration?

  /// What the answer means.
  ///
  /// - Parameters:
  ///   - table: The provider's table.
  ///   - hasOtherLane: Whether the job may take another lane after this one.
  func classification(_ table: ProviderTable, hasOtherLane: Bool) -> Classification {
    let (rule, isOfCode) = table.rule(code: code, status: status)
    let reason = Reason(rule.reason, rule.detail, providerCode: code ?? "HTTP \(status)")
    // A 503 that says when to come back was not processed (RFC 9110, 15.6.4); one that does not may be a gateway's, which
    // lost the answer.
    if status == 503, retryAfter != nil, !isOfCode { return .retry(reason, after: retryAfter) }
    switch rule.class {
    case .refused: return .refused(reason)
    case .otherLane: return hasOtherLane ? .retry(reason) : .refused(reason)
    case .retry: return .retry(reason, after: retryAfter)
    case .unknown: return .unknown(reason)
    case .laneDown: return .laneDown(reason)
    }
  }
}
