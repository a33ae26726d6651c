public import JobEngine

/// A way out for SMS.
public typealias SMSLane = ProviderLane<OutgoingSMS>

/// A message that was checked and is ready to be sent.
///
/// It holds a phone number and usually a code, so it does not print.
public struct OutgoingSMS: Sendable, Hashable {
  /// Recipient, in E.164.
  public let to: String
  public let text: SMSText
  /// Language that the job asks for (BCP 47), if it names one.
  public let languageCode: String?
}

extension OutgoingSMS: CustomStringConvertible, CustomReflectable {
  public var description: String { "<SMS, \(text.segments) segment(s) of \(text.encoding.rawValue)>" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
