/// The message in which a job goes on, because what its call yielded must outlive the worker.
///
/// It is of the job's own type, and goes to the queue of its jobs.
public struct NextStage: Sendable, Hashable {
  /// Its message ID, always the same for the same job: then twice has one effect.
  public var messageID: String
  /// Its body, JSON. What is secret in it is sealed: it is kept in the ledger as well.
  public var body: [UInt8]

  /// - Parameters:
  ///   - messageID: Its message ID, always the same for the same job.
  ///   - body: Its body, JSON, with its secrets sealed.
  public init(messageID: String, body: [UInt8]) {
    self.messageID = messageID
    self.body = body
  }
}
