/// A short message that has been checked and is ready to be sent.
///
/// It holds a phone number and, most often, a code: it does not print.
public struct OutgoingSMS: Sendable, Hashable {
  /// E.164.
  public let to: String
  public let text: SMSText
  /// The language that was asked for (BCP 47), when the job says one.
  public let languageCode: String?
}

extension OutgoingSMS: CustomStringConvertible, CustomReflectable {
  public var description: String { "<SMS, \(text.segments) segment(s) of \(text.encoding.rawValue)>" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
