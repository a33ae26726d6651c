import CountersignTelemetry

/// Storage of a ``PushMemory``. Tokens are hashes.
protocol PushMemoryStore: Sendable {
  func environment(_ token: [UInt8]) async throws(AssessmentMemoryError) -> DeviceEnvironment?

  func remember(_ environment: DeviceEnvironment, _ token: [UInt8], at now: UnixTime)
    async throws(AssessmentMemoryError)

  /// Claims a token for a job, unless it has an owner.
  func begin(
    _ token: [UInt8], jobID: String, at now: UnixTime
  ) async throws(AssessmentMemoryError) -> AssessmentStart

  func record(
    _ verdict: [UInt8], of token: [UInt8], jobID: String, at now: UnixTime
  ) async throws(AssessmentMemoryError)

  /// Forgets a token of the job without a verdict.
  func release(_ token: [UInt8], jobID: String) async throws(AssessmentMemoryError)

  func verdict(of token: [UInt8], jobID: String) async throws(AssessmentMemoryError) -> AssessmentVerdict?

  /// Removes some of the rows that were written before these times.
  func purge(environments: UnixTime, assessments: UnixTime) async throws(AssessmentMemoryError)

  func close() async
}
