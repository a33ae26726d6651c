public import JobEngine

/// One way out for short messages: a provider account.
///
/// A further provider is one more type of this protocol, its configuration, and its table in `Config/providers/`.
public protocol SMSLane: Sendable {
  /// The lane's name, as jobs and results show it.
  var name: String { get }

  /// Whether the provider carries out a message once, however often it gets it under the same job ID. A job that only
  /// such a lane serves is sent again when its outcome is unknown.
  var deduplicates: Bool { get }

  /// Hands the message to the provider, once.
  ///
  /// - Parameters:
  ///   - message: What to send.
  ///   - attempt: The job ID, and until when the call has to end.
  /// - Returns: What became of it. It never repeats a call whose outcome is unknown.
  func send(_ message: OutgoingSMS, _ attempt: JobAttempt) async -> Classification

  /// Asks the provider what became of an earlier call.
  ///
  /// - Returns: nil, the default, when it cannot tell.
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
