import CountersignClient

/// Verifies a phone number as a service does. This file imports `CountersignClient` and nothing else.
struct NumberVerification: Sendable {
  let client: CountersignClient
  let app: String
  let readCode: @Sendable (_ phoneNumber: String) async throws -> String

  /// Starts a verification, gives back a wrong code first and then the one that was sent.
  func verify(_ phoneNumber: String) async throws -> VerificationApproved {
    let started = try await client.startVerification(of: phoneNumber, app: app, languageCode: "en")
    let code = try await readCode(started.phoneNumber)
    if let approved = try await check(started.verificationID, code: Self.wrong(code)) {
      throw VerificationProblem("the wrong code was approved: \(approved)")
    }
    guard let approved = try await check(started.verificationID, code: code) else {
      throw VerificationProblem("the code that was sent was refused")
    }
    return approved
  }

  private func check(_ verificationID: String, code: String) async throws(ClientError) -> VerificationApproved? {
    do {
      return try await client.check(verificationID, code: Secret(code), app: app)
    } catch let error where error.apiError?.code == .invalidCode {
      print("wrong code: \(error.apiError?.attemptsLeft ?? 0) attempts left")
      return nil
    }
  }

  private static func wrong(_ code: String) -> String {
    String(code.reversed()) == code ? (code.hasPrefix("1") ? "2" : "1") + code.dropFirst() : String(code.reversed())
  }
}

struct VerificationProblem: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
