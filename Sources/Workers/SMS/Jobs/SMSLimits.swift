/// The bounds of one short message.
public struct SMSLimits: Sendable, Hashable {
  /// The longest text, in characters as providers count them (UTF-16 code units).
  public var maxTextLength: Int
  /// The most segments, each of which is billed.
  public var maxSegments: Int
  /// Whether a job's own text may end with a line that binds a code to a domain (`@example.com #482913`).
  public var allowsDomainBoundCodes: Bool

  /// Twilio's limit of `Body`; others take no more either.
  public static let largestTextLength = 1600

  /// - Parameters:
  ///   - maxTextLength: 1 to 1600.
  ///   - maxSegments: 1 or more; 1600 characters are 11 segments in GSM 7 bit and 24 in UCS-2.
  ///   - allowsDomainBoundCodes: Whether a job's own text may end with a line that binds a code to a domain.
  public init(
    maxTextLength: Int = largestTextLength, maxSegments: Int = 10, allowsDomainBoundCodes: Bool = false
  ) {
    self.maxTextLength = maxTextLength
    self.maxSegments = maxSegments
    self.allowsDomainBoundCodes = allowsDomainBoundCodes
  }
}
