/// The message with which a job continues, because the yield of its call must outlive the worker.
///
/// It has the job's own type, and goes to the queue of its jobs.
public struct NextStage: Sendable, Hashable {
  /// Its message ID, always the same for the same job, so that a repetition has one effect.
  public var messageID: String
  /// Its body, JSON. Secrets in it are sealed: it is kept in the ledger as well.
  public var body: [UInt8]

  public init(messageID: String, body: [UInt8]) {
    self.messageID = messageID
    self.body = body
  }
}
