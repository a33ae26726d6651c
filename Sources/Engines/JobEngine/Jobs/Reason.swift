/// Reason for the end of a job, or for its retry, that a person or a caller can act on.
///
/// A reason travels in results, headers and logs, so it never contains a secret, a code or a whole phone number.
public struct Reason: Sendable, Hashable, CustomStringConvertible {
  /// Code for callers: upper case with underscores, one of this system's own words such as `INVALID_NUMBER`.
  public var code: String
  /// One sentence for people.
  public var detail: String
  /// The provider's own code, unchanged (`21610`, `BadDeviceToken`), if any.
  public var providerCode: String?

  public init(_ code: String, _ detail: String, providerCode: String? = nil) {
    self.code = code
    self.detail = detail
    self.providerCode = providerCode
  }

  /// The longest text of a reason in a result or a header, in bytes of UTF-8. All headers of a message have to fit into
  /// one frame.
  public static let maxDetailBytes = 512

  public var description: String {
    if let providerCode { "\(code) (\(providerCode)): \(detail)" } else { "\(code): \(detail)" }
  }
}
