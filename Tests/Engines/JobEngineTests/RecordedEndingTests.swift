import CountersignMessages
import CountersignTelemetry
import Testing

@testable import JobEngine

/// The record of a job's end repeats its result to the byte.
@Suite struct RecordedEndingTests {
  static let results = [
    JobResult(jobID: "a", outcome: .unknown, attempts: 0, startedAt: start, finishedAt: start),
    JobResult(
      jobID: "job \"1\"\\/\u{0}\u{1F}\u{7F}\n\té漢🙂", outcome: .refused, lane: "twilio", reference: "SM\r1",
      reason: JobResult.Reason(code: "INVALID_NUMBER", detail: "\"no\" \\ such", providerCode: "21211"), attempts: 3,
      startedAt: start + .milliseconds(7), finishedAt: start + .seconds(5)
    ).adding([
      "segments": 2, "encoding": "GSM-7", "score": 0.1, "big": 1e300, "suppress": true, "no": false, "neg": -5,
      "k\"ey": "v\"alue",
    ]),
    JobResult(
      jobID: "a", outcome: .accepted, reason: JobResult.Reason(code: "X"), attempts: 1, startedAt: start,
      finishedAt: start),
  ]

  @Test(arguments: results) func `A result is read back`(_ result: JobResult) throws {
    for id in [result.jobID, "another message"] {
      let record = RecordedEnding.result(result).record(of: id)
      guard case .result(let read) = try RecordedEnding(record, of: id) else { throw RecordedEnding.unreadable }
      #expect(read == result)
      #expect(read.fastJSON == result.fastJSON)
    }
  }

  @Test func `A record is less than half of its JSON`() {
    let result = JobResult(
      jobID: "0190a6b4-6f3c-7d2a-9d1f-3a5b7c9e1f20.sms.1", outcome: .accepted, lane: "twilio-eu",
      reference: "SM0123456789abcdef0123456789abcdef", attempts: 1, startedAt: start,
      finishedAt: start + .milliseconds(350)
    ).adding(["segments": 1, "encoding": "GSM-7"])
    #expect(RecordedEnding.result(result).record(of: result.jobID).count < 115)
    #expect(result.fastJSON.count > 230)
  }

  @Test func `Truncated and overlong records are refused`() {
    for result in Self.results {
      let record = RecordedEnding.result(result).record(of: "a")
      for count in 0..<record.count {
        #expect(throws: ContractProblem.self) { try RecordedEnding(Array(record.prefix(count)), of: "a") }
      }
      #expect(throws: ContractProblem.self) { try RecordedEnding(record + [0], of: "a") }
    }
  }
}
