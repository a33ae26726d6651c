import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Coordination

/// Verifications that accounts has started for services.
@Suite struct ServiceVerificationTests {
  private static let subject = "service account"

  private func start(_ app: String, subject: String? = subject) -> StartVerification {
    StartVerification(phoneNumber: Bench.number, app: app, purpose: .verification, subject: subject)
  }

  @Test(arguments: [Bench.app, Bench.pushApp, Bench.recaptchaApp, Bench.auditApp])
  func `Accounts vouches for services, whatever proof the app needs`(app: String) async throws {
    let bench = try await Bench()
    #expect(try await bench.reply(to: start(app), user: "accounts").purpose == .verification)
    #expect(try bench.jobs().count == 1)
    // For nobody else, and for no other purpose.
    if app == Bench.pushApp || app == Bench.recaptchaApp {
      #expect(try await bench.error(start(app), user: "service").code == .missingClientIdentifier)
      let factor = StartVerification(
        phoneNumber: Bench.number, app: app, purpose: .secondFactorSignIn, subject: Self.subject)
      #expect(try await bench.error(factor, user: "accounts").code == .missingClientIdentifier)
    }
  }

  @Test func `An app that is off is off for services, too`() async throws {
    let bench = try await Bench()
    #expect(try await bench.error(start("closed"), user: "accounts").code == .appNotVerified)
  }

  @Test func `A gateway neither starts nor checks them, and a subject is needed`() async throws {
    let bench = try await Bench(Bench.rules { $0.gateways = ["gateway"] })
    #expect(try await bench.error(start(Bench.recaptchaApp), user: "gateway").reason == "FACTOR_OVER_HTTP")
    #expect(try await bench.error(start(Bench.app, subject: nil), user: "accounts").field == "subject")
    let started = try VerificationStarted(json: try await bench.ask(start(Bench.app), user: "accounts").body)
    let code = try #require(try bench.jobs().first?.code)
    let check = CheckVerification(verificationID: started.verificationID, code: SecretField(Secret(code)))
    #expect(try await bench.error(check, user: "gateway").code == .invalidSessionInfo)
    #expect(try await bench.ask(check, user: "accounts").type == "verification.approved.v1")
  }

  @Test func `Status and cancel of another app, purpose or subject find nothing`() async throws {
    let bench = try await Bench()
    let id = try VerificationStarted(json: try await bench.ask(start(Bench.app), user: "accounts").body).verificationID
    for (app, purpose, subject, field) in [
      ("b", nil, nil, "app"), (Bench.app, .signIn, Self.subject, "purpose"),
      (nil, .verification, "another", "subject"),
    ] as [(String?, VerificationPurpose?, String?, String)] {
      for error in [
        try await bench.error(
          GetVerificationStatus(verificationID: id, app: app, purpose: purpose, subject: subject)),
        try await bench.error(CancelVerification(verificationID: id, app: app, purpose: purpose, subject: subject)),
      ] { #expect(error.code == .invalidSessionInfo && error.field == field) }
    }
    #expect(try await bench.status(id).state == .sending)
    let get = GetVerificationStatus(
      verificationID: id, app: Bench.app, purpose: .verification, subject: Self.subject)
    #expect(try VerificationStatus(json: try await bench.ask(get).body).purpose == .verification)
    let cancel = CancelVerification(
      verificationID: id, app: Bench.app, purpose: .verification, subject: Self.subject)
    #expect(try await bench.ask(cancel).type == "verification.canceled.v1")
  }

  @Test func `A service has a code of its own, and the number's limits hold for all together`() async throws {
    let bench = try await Bench(Bench.rules { $0.limits[.sendsPerNumberPer10Minutes] = 2 })
    let own = try await bench.start().verificationID
    let service = try VerificationStarted(json: try await bench.ask(start(Bench.app), user: "accounts").body)
    #expect(service.verificationID != own)
    let again = try VerificationStarted(json: try await bench.ask(start(Bench.app), user: "accounts").body)
    #expect(again.verificationID == service.verificationID)
    #expect(
      try await bench.error(start(Bench.app, subject: "another"), user: "accounts").code == .tooManyAttempts)
  }
}
