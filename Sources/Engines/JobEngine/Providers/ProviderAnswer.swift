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

  /// Meaning of the answer.
  ///
  /// - Parameter table: The provider's table.
  public func classification(_ table: ProviderTable) -> Classification {
    table.classification(status: status, code: code, retryAfter: retryAfter)
  }
}
