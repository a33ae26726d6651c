public import CountersignAMQP

extension Publisher: JobSink {
  /// Flushes for at most 5 s: what is outstanding is safe to be delivered again.
  public func stop() async {
    await stop(ceiling: .seconds(5))
  }
}
