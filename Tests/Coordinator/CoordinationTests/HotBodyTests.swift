import CountersignMessages
import CountersignTelemetry
import Testing

@testable import Coordination

@Suite("Bodies written by hand are those of the contract")
struct HotBodyTests {
  private let at = UnixTime(milliseconds: 1_782_907_200_123)
  private let text = "a\"b\\c\u{1}\n\té日本/"

  @Test("Every field comes back, whatever is in it")
  func roundTrip() throws {
    let started = VerificationStarted(
      verificationID: "id", app: text, phoneNumber: "+14155550123", codeLength: 6, expiresAt: at, resendAfter: 30,
      resent: true, testNumber: false, purpose: .secondFactorEnrollment)
    #expect(try VerificationStarted(json: started.hotJSON) == started)
    let approved = VerificationApproved(
      verificationID: text, app: "app", phoneNumber: "+1", approvedAt: at, purpose: .secondFactorSignIn, subject: text,
      testNumber: true)
    #expect(try VerificationApproved(json: approved.hotJSON) == approved)
    for lane in [nil, text] {
      let sent = VerificationSent(
        verificationID: "id", app: "app", phoneNumber: "+1", sentAt: at, job: 2, lane: lane, reference: lane,
        purpose: .secondFactorSignIn)
      #expect(try VerificationSent(json: sent.hotJSON) == sent)
    }
  }

  @Test("Jobs, with and without what may be absent")
  func jobs() throws {
    let full = SMSDispatchJob.Variables(
      code: SecretField(Secret(text)), appName: text, domain: "example.com", androidHash: text)
    for job in [
      SMSDispatchJob(
        to: "+1", content: .template(name: "verification", languageCode: "pt-BR", variables: full), app: "b", lane: "a",
        deadline: at, onUnknown: .resend),
      SMSDispatchJob(
        to: "+1", content: .template(name: text, languageCode: nil, variables: .init()), deadline: at),
      SMSDispatchJob(to: "+1", content: .text(text), deadline: at, onUnknown: .report),
    ] {
      #expect(try SMSDispatchJob(json: job.hotJSON) == job)
    }
  }

  @Test("They have no field that the contract does not have, and lack none")
  func sameFields() throws {
    func names(_ json: [UInt8]) -> Set<String> {
      Set(
        String(decoding: json, as: UTF8.self).split { "{},:".contains($0) }.map(String.init).filter {
          $0.hasPrefix("\"")
        })
    }
    let started = VerificationStarted(
      verificationID: "v", app: "v", phoneNumber: "v", codeLength: 6, expiresAt: UnixTime(seconds: 0), resendAfter: 1,
      resent: true, testNumber: true, purpose: .secondFactorSignIn)
    #expect(names(started.hotJSON) == names(try started.json()))
    let sent = VerificationSent(
      verificationID: "v", app: "v", phoneNumber: "v", sentAt: UnixTime(seconds: 0), job: 1, lane: "v", reference: "v",
      purpose: .secondFactorSignIn)
    #expect(names(sent.hotJSON) == names(try sent.json()))
    let approved = VerificationApproved(
      verificationID: "v", app: "v", phoneNumber: "v", approvedAt: UnixTime(seconds: 0), purpose: .signIn,
      subject: "v", testNumber: true)
    #expect(names(approved.hotJSON) == names(try approved.json()))
    let job = SMSDispatchJob(
      to: "v",
      content: .template(
        name: "v", languageCode: "v",
        variables: .init(code: SecretField(Secret("v")), appName: "v", domain: "v")), app: "v", lane: "v",
      deadline: UnixTime(seconds: 0), onUnknown: .report)
    #expect(names(job.hotJSON) == names(try job.json()))
  }
}
