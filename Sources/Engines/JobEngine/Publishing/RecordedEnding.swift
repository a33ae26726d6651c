import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Record of an ended job, for publishing its result again, or the message with which it continues.
///
/// A record is a quarter of the size of its JSON. Its first byte is its version.
enum RecordedEnding: Sendable, Hashable {
  case result(JobResult)
  case stage(NextStage)

  private static let resultVersion: UInt8 = 1
  private static let stageVersion: UInt8 = 2

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
    default: throw RecordReader.damaged
    }
  }

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

  var text: String {
    switch self {
    case .result(let result): result.outcome.rawValue
    case .stage: "continued"
    }
  }
}
