public import JobEngine

/// A way out for messages: one account at a provider.
public protocol SMSLane: Sendable {
  /// Name of the lane in jobs and results.
  var name: String { get }

  /// Whether the provider sends once, however often it gets a message under the same job ID. A job that only such a
  /// lane serves is sent again when its outcome is unknown.
  var deduplicates: Bool { get }

  /// Hands the message to the provider, once. A call whose outcome is unknown is not repeated.
  ///
  /// - Parameters:
  ///   - message: message to send.
  ///   - attempt: the job's ID, and the time by which the call has to end.
  /// - Returns: the outcome of the call.
  func send(_ message: OutgoingSMS, _ attempt: JobAttempt) async -> Classification

  /// Asks the provider for the outcome of an earlier call.
  ///
  /// - Returns: `nil`, the default, if the provider cannot tell.
  func lookUp(_ message: OutgoingSMS, _ attempt: JobAttempt) async -> Classification?

  /// Asks whether the lane, which is down, works again, without sending anything.
  ///
  /// - Returns: `.cannotTell`, the default, makes the next job the trial.
  func probe() async -> ProbeResult
}

extension SMSLane {
  public var deduplicates: Bool { false }

  public func lookUp(_ message: OutgoingSMS, _ attempt: JobAttempt) async -> Classification? { nil }

  public func probe() async -> ProbeResult { .cannotTell }
}

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
