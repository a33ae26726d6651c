import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Record of a job that ended: what its result needs to be published again, or the message in which it goes on.
///
/// A record is a quarter of the JSON that it stands for. Its first byte tells its version; records of before are the JSON itself.
enum RecordedEnding: Sendable, Hashable {
  case result(JobResult)
  case stage(NextStage)

  private static let resultVersion: UInt8 = 1
  private static let stageVersion: UInt8 = 2

  /// Reads a record.
  /// - Parameters:
  ///   - record: What the ledger has.
  ///   - messageID: The message whose record it is.
  /// - Throws: when it is none that this version knows.
  init(_ record: [UInt8], of messageID: String) throws(ContractProblem) {
    switch record.first {
    case Self.resultVersion:
      var reader = RecordReader(record.dropFirst())
      self = .result(try JobResult(&reader, messageID: messageID))
      guard reader.isAtEnd else { throw RecordReader.damaged }
    case Self.stageVersion:
      var reader = RecordReader(record.dropFirst())
      self = .stage(NextStage(messageID: try reader.text(), body: try reader.bytes()))
      guard reader.isAtEnd else { throw RecordReader.damaged }
    case UInt8(ascii: "{"): try self.init(json: record)
    default: throw RecordReader.damaged
    }
  }

  /// The record.
  /// - Parameter messageID: The message whose record it is.
  func record(of messageID: String) -> [UInt8] {
    switch self {
    case .result(let result):
      var writer = RecordWriter(version: Self.resultVersion)
      result.write(to: &writer, messageID: messageID)
      return writer.bytes
    case .stage(let stage):
      var writer = RecordWriter(version: Self.stageVersion)
      writer.put(stage.messageID)
      writer.put(stage.body)
      return writer.bytes
    }
  }

  /// For the log.
  var text: String {
    switch self {
    case .result(let result): result.outcome.rawValue
    case .stage: "continued"
    }
  }

  /// Reads a record as it was written before records were compact.
  private init(json record: [UInt8]) throws(ContractProblem) {
    // It is the one or the other; that it is not the first is no error.
    if let stage = try? Self.reader.decode(StageRecord.self, from: record).nextStage {
      self = .stage(NextStage(messageID: stage.messageID, body: Array(stage.body.utf8)))
      return
    }
    do throws(ContractProblem) {
      self = .result(try JobResult(json: record))
    } catch {
      throw RecordReader.damaged
    }
  }

  /// A record has the body of one message in a string, in which each byte may have become six (`\u001f`).
  private static let reader = JSONReader(maxBytes: 8 * MessageLimits.maxBodyBytes)
}

private struct StageRecord: Decodable {
  struct Stage: Decodable {
    var messageID: String
    var body: String
  }

  var nextStage: Stage
}
