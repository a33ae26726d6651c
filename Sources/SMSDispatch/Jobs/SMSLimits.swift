/// The bounds of one short message.
public struct SMSLimits: Sendable, Hashable {
  /// The longest text, in characters as providers count them (UTF-16 code units).
  public var maxTextLength: Int
  /// The most segments, each of which is billed.
  public var maxSegments: Int

  /// Twilio's limit of `Body`; others take no more either.
  public static let largestTextLength = 1600

  /// - Parameters:
  ///   - maxTextLength: 1 to 1600.
  ///   - maxSegments: 1 or more; 1600 characters are 11 segments in GSM 7 bit and 24 in UCS-2.
  public init(maxTextLength: Int = largestTextLength, maxSegments: Int = 10) {
    self.maxTextLength = maxTextLength
    self.maxSegments = maxSegments
  }
}
