import CountersignMessages
import CountersignTelemetry
import Testing

@testable import JobEngine

/// What is recorded of a job's end repeats its result to the byte.
@Suite struct RecordedEndingTests {
  @Test(arguments: ResultTextTests.results) func aResultIsReadBack(_ result: JobResult) throws {
    for id in [result.jobID, "another message"] {
      let record = RecordedEnding.result(result).record(of: id)
      guard case .result(let read) = try RecordedEnding(record, of: id) else { throw RecordReader.damaged }
      #expect(read == result)
      #expect(ResultText.bytes(read) == ResultText.bytes(result))
    }
  }

  @Test(arguments: ResultTextTests.results) func aResultRecordedAsJSONIsReadBack(_ result: JobResult) throws {
    #expect(try RecordedEnding(ResultText.bytes(result), of: "a") == .result(result))
  }

  @Test func aRecordIsMuchSmallerThanItsJSON() {
    let result = JobResult(
      jobID: "0190a6b4-6f3c-7d2a-9d1f-3a5b7c9e1f20.sms.1", outcome: .accepted, lane: "twilio-eu",
      reference: "SM0123456789abcdef0123456789abcdef", attempts: 1, startedAt: start,
      finishedAt: start + .milliseconds(350), extras: ["segments": 1, "encoding": "GSM-7"])
    #expect(RecordedEnding.result(result).record(of: result.jobID).count < 100)
    #expect(ResultText.bytes(result).count > 230)
  }

  @Test func whatEndsTooEarlyOrGoesOnIsRefused() {
    for result in ResultTextTests.results {
      let record = RecordedEnding.result(result).record(of: "a")
      for count in 0..<record.count {
        #expect(throws: ContractProblem.self) { try RecordedEnding(Array(record.prefix(count)), of: "a") }
      }
      #expect(throws: ContractProblem.self) { try RecordedEnding(record + [0], of: "a") }
    }
  }

  @Test func noBytesTrap() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      var bytes = (0..<Int.random(in: 1..<60)).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
      bytes[0] = [1, 2, UInt8(ascii: "{")].randomElement() ?? 1
      // Whatever it says, it says it.
      _ = try? RecordedEnding(bytes, of: "a")
    }
  }
}
