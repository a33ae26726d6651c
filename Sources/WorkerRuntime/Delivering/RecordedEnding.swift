import FoundationEssentials
import GuardedJSON
import Messages

/// What the ledger has of a job that ended: its result, or the message in which it goes on.
enum RecordedEnding: Sendable, Hashable {
  case result(JobOutcome)
  case stage(NextStage)

  /// Reads a record.
  /// - Throws: when it is neither.
  init(_ record: [UInt8]) throws(ContractProblem) {
    if let stage = try? Self.reader.decode(StageRecord.self, from: record).nextStage {
      self = .stage(NextStage(messageID: stage.messageID, body: Array(stage.body.utf8)))
    } else {
      self = .result(try JobResult(json: record).outcome)
    }
  }

  /// A record has the body of one message in a string, in which each byte may have become six (`\u001f`).
  private static let reader = JSONReader(maxBytes: 8 * MessageLimits.maxBodyBytes)

  /// What is recorded of a job that goes on. No result has such a field alone.
  static func record(_ stage: NextStage) -> [UInt8] {
    let record = StageRecord(
      nextStage: StageRecord.Stage(messageID: stage.messageID, body: String(decoding: stage.body, as: UTF8.self)))
    // Two strings can always be written.
    return (try? JSONEncoder().encode(record)).map(Array.init) ?? []
  }
}

private struct StageRecord: Codable {
  struct Stage: Codable {
    var messageID: String
    var body: String
  }

  var nextStage: Stage
}
