/// Why a job ended as it did, or why it has to be tried again: what a person or a caller can act on.
///
/// A reason travels in results, headers and logs, so it never holds a secret, a code or a whole phone number.
public struct Reason: Sendable, Hashable, CustomStringConvertible {
  /// What callers match on: upper case with underscores, one of this system's own words such as `INVALID_NUMBER`.
  public var code: String
  /// One sentence for people.
  public var detail: String
  /// The provider's own code as it came (`21610`, `BadDeviceToken`), when there is one.
  public var providerCode: String?

  /// - Parameters:
  ///   - code: What callers match on, e.g. `INVALID_NUMBER`.
  ///   - detail: One sentence for people; longer than `Reason.maximumDetailBytes` it is cut when it is published.
  ///   - providerCode: The provider's own code, when there is one.
  public init(_ code: String, _ detail: String, providerCode: String? = nil) {
    self.code = code
    self.detail = detail
    self.providerCode = providerCode
  }

  /// The longest text of a reason that is published or put into a header, in bytes of UTF-8. All headers of a message
  /// have to fit into one frame.
  public static let maximumDetailBytes = 512

  public var description: String {
    if let providerCode { "\(code) (\(providerCode)): \(detail)" } else { "\(code): \(detail)" }
  }
}
