import CountersignMessages
import CountersignTelemetry
import Testing

@testable import JobEngine

/// What is written by hand is what the contract reads.
@Suite struct ResultTextTests {
  static let results = [
    JobResult(jobID: "a", outcome: .unknown, attempts: 0, startedAt: start, finishedAt: start),
    JobResult(
      jobID: "job \"1\"\\/\u{0}\u{1F}\u{7F}\n\té漢🙂", outcome: .refused, lane: "twilio", reference: "SM\r1",
      reason: JobResult.Reason(code: "INVALID_NUMBER", detail: "\"no\" \\ such", providerCode: "21211"), attempts: 3,
      startedAt: start + .milliseconds(7), finishedAt: start + .seconds(5),
      extras: [
        "segments": 2, "encoding": "GSM-7", "score": 0.1, "big": 1e300, "suppress": true, "no": false, "neg": -5,
        "k\"ey": "v\"alue",
      ]),
    JobResult(
      jobID: "a", outcome: .accepted, reason: JobResult.Reason(code: "X"), attempts: 1, startedAt: start,
      finishedAt: start),
  ]

  @Test(arguments: results) func itIsReadBack(_ result: JobResult) throws {
    let bytes = ResultText.bytes(result)
    #expect(try JobResult(json: bytes) == result)
    // The encoder of the contract writes the same, but for the order of the fields.
    #expect(try JobResult(json: result.json()) == result)
  }

  @Test func extrasDoNotTakeTheNameOfAField() throws {
    let result = JobResult(
      jobID: "a", outcome: .accepted, attempts: 1, startedAt: start, finishedAt: start,
      extras: ["outcome": "refused", "nan": .double(.nan), "infinite": .double(.infinity)])
    var expected = result
    expected.extras = [:]
    #expect(try JobResult(json: ResultText.bytes(result)) == expected)
  }
}
