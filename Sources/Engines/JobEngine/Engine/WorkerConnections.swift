public import CountersignAMQP

extension Gathering {
  /// Gathering of a worker's results, delays and dead letters. The provider took far longer than a hundredth of a
  /// second; at 300 jobs a second the wait saves the broker a quarter of its work.
  static let workerResults = Gathering(interval: .milliseconds(10), isPrompt: false)
  /// A job whose acknowledgement is lost with its connection is in the ledger, and answered from there.
  static let workerAcknowledgements = Gathering(interval: .milliseconds(50), isPrompt: false)
}

extension MessageSink {
  /// Stops a worker's publisher: flushes for at most 5 s, since an outstanding message is safe to be published again.
  public func stopPromptly() async {
    await stop(ceiling: .seconds(5))
  }
}
