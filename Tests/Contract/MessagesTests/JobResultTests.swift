import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@Suite struct JobResultTests {
  static let start = UnixTime(seconds: 1_782_907_200)

  @Test func `Extras are fields of the result`() throws {
    let result = JobResult(
      jobID: "j", outcome: .accepted, lane: "twilio", reference: "SM1", attempts: 1, startedAt: Self.start,
      finishedAt: Self.start + .milliseconds(20)
    ).adding(["segments": 2, "encoding": "gsm7", "score": 0.5, "suppress": true, "jobID": "another"])
    let json = try result.json()
    let text = #"""
      {"jobID":"j","outcome":"accepted","lane":"twilio","reference":"SM1","attempts":1,
       "startedAt":"2026-07-01T12:00:00Z","finishedAt":"2026-07-01T12:00:00.020Z",
       "segments":2,"encoding":"gsm7","score":0.5,"suppress":true}
      """#
    #expect(try JSONValue(parsing: json) == JSONValue(parsing: text))
    var expected = result
    expected.extras["jobID"] = nil
    #expect(try JobResult(json: json) == expected)
  }

  @Test func `Non scalar values are ignored`() throws {
    let json = #"""
      {"jobID":"j","outcome":"refused","reason":{"code":"INVALID_NUMBER","detail":"d","providerCode":"21211"},"attempts":1,
       "startedAt":"2026-07-01T12:00:00Z","finishedAt":"2026-07-01T12:00:00Z","parts":[1],"more":{},"nothing":null}
      """#
    let result = try JobResult(json: Array(json.utf8))
    #expect(result.extras.isEmpty)
    #expect(result.reason?.providerCode == "21211")
  }

  @Test func `Numbers of either kind`() {
    let values: [JobResult.Value] = [1, 0.5, "1", true]
    #expect(values.map(\.number) == [1, 0.5, nil, nil])
  }

  @Test func `Outcomes and reasons have the names of the contract`() {
    #expect(JobResult.type(ofJob: SMSDispatchJob.type).text == "sms.dispatch.result.v1")
    #expect(JobResult.routingKey(queue: "sms.dispatch", outcome: .unknown) == "sms.dispatch.unknown")
    #expect(JobResult.routingKey(queue: Topology.Queues.smsBulk, outcome: .accepted) == "sms.bulk.accepted")
    #expect(JobResult.messageID(jobID: "j") == "j.result")
  }
}
