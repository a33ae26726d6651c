import CountersignTelemetry
import Testing

@testable import CountersignMessages

@Suite struct FastJSONTests {
  private let at = UnixTime(milliseconds: 1_782_907_200_123)
  private let text = "a\"b\\c\u{1}\n\té日本/"

  @Test func `Every field comes back, whatever is in it`() throws {
    var started = VerificationStarted(
      verificationID: "id", app: text, phoneNumber: "+14155550123", codeLength: 6, expiresAt: at, resendAfter: 30,
      resent: true, testNumber: false)
    started.purpose = .secondFactorEnrollment
    #expect(try VerificationStarted(json: started.fastJSON) == started)
    let approved = VerificationApproved(
      verificationID: text, app: "app", phoneNumber: "+1", approvedAt: at, purpose: .secondFactorSignIn, subject: text,
      testNumber: true)
    #expect(try VerificationApproved(json: approved.fastJSON) == approved)
    for lane in [nil, text] {
      let sent = VerificationSent(
        verificationID: "id", app: "app", phoneNumber: "+1", sentAt: at, job: 2, lane: lane, reference: lane,
        purpose: .secondFactorSignIn)
      #expect(try VerificationSent(json: sent.fastJSON) == sent)
    }
  }

  @Test func `Jobs, with and without what may be absent`() throws {
    let full = SMSDispatchJob.Variables(
      code: SecretField(Secret(text)), appName: text, domain: "example.com", androidHash: text,
      custom: ["plan": text, "place": "Köln"])
    for job in [
      SMSDispatchJob(
        to: "+1", content: .template(name: "verification", languageCode: "pt-BR", variables: full), app: "b", lane: "a",
        deadline: at, onUnknown: .resend),
      SMSDispatchJob(
        to: "+1", content: .template(name: text, languageCode: nil, variables: .init()), deadline: at),
      SMSDispatchJob(to: "+1", content: .text(text), deadline: at, onUnknown: .report),
    ] {
      #expect(try SMSDispatchJob(json: job.fastJSON) == job)
    }
  }

  @Test func `They have no field that the contract does not have, and lack none`() throws {
    func names(_ json: [UInt8]) -> Set<String> {
      Set(
        String(decoding: json, as: UTF8.self).split { "{},:".contains($0) }.map(String.init).filter {
          $0.hasPrefix("\"")
        })
    }
    var started = VerificationStarted(
      verificationID: "v", app: "v", phoneNumber: "v", codeLength: 6, expiresAt: UnixTime(seconds: 0), resendAfter: 1,
      resent: true, testNumber: true)
    started.purpose = .secondFactorSignIn
    #expect(names(started.fastJSON) == names(try started.json()))
    let sent = VerificationSent(
      verificationID: "v", app: "v", phoneNumber: "v", sentAt: UnixTime(seconds: 0), job: 1, lane: "v", reference: "v",
      purpose: .secondFactorSignIn)
    #expect(names(sent.fastJSON) == names(try sent.json()))
    let approved = VerificationApproved(
      verificationID: "v", app: "v", phoneNumber: "v", approvedAt: UnixTime(seconds: 0), purpose: .signIn,
      subject: "v", testNumber: true)
    #expect(names(approved.fastJSON) == names(try approved.json()))
    let job = SMSDispatchJob(
      to: "v",
      content: .template(
        name: "v", languageCode: "v",
        variables: .init(code: SecretField(Secret("v")), appName: "v", domain: "v")), app: "v", lane: "v",
      deadline: UnixTime(seconds: 0), onUnknown: .report)
    #expect(names(job.fastJSON) == names(try job.json()))
  }

  private static let start = UnixTime(milliseconds: 1_782_907_200_123)

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

  @Test(arguments: results)
  func `Results come back, and the encoder writes the same but for the order`(_ result: JobResult) throws {
    #expect(try JobResult(json: result.fastJSON) == result)
    #expect(try JobResult(json: result.json()) == result)
  }

  @Test func `Delays come back`() throws {
    let delayed = JobDelayed(
      jobID: "a\"b", reason: .init(code: "C", detail: "d", providerCode: "503"), attempts: 2,
      nextAttemptAt: Self.start + .milliseconds(5250))
    #expect(try JobDelayed(json: delayed.fastJSON) == delayed)
  }

  @Test func `Extras take no name of a field and hold no number that JSON lacks`() throws {
    let result = JobResult(
      jobID: "a", outcome: .accepted, attempts: 1, startedAt: Self.start, finishedAt: Self.start
    ).adding(["outcome": "refused", "nan": .double(.nan), "infinite": .double(.infinity)])
    var expected = result
    expected.extras = [:]
    #expect(try JobResult(json: result.fastJSON) == expected)
  }
}
