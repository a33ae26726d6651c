import CountersignMessages
import Testing

@testable import Coordination

@Suite struct MessagesPageTests {
  private let page: Page

  init() throws {
    page = try Page("docs/messages.md")
  }

  /// Stands for a reason of a worker.
  private static let workers = VerificationFailure(code: "OF_A_WORKER")

  private static let refusals: [ProofRefusal] = [
    .unknownReceipt, .wrongSecret, .otherApp, .expired, .revoked, .missingSecret(failure: nil),
    .missingSecret(failure: workers), .captchaReplayed, .captchaRefused(workers), .captchaUndecided(workers),
  ]

  @Test func `Codes and reasons of refused proofs are those of the answers`() throws {
    let answers = Self.refusals.map(APIError.init) + [.missingProof, .notFictional, .pushNotOffered]
    let expected = answers.map { error in
      [error.code.rawValue] + (error.reason == Self.workers.code ? [] : [error.reason].compactMap { $0 })
    }
    let rows = try page.table("| proof | code | reason |").map { row in row[1...].flatMap(Page.code) }
    #expect(Set(rows) == Set(expected))
    #expect(rows.count == Set(rows).count)
  }
}
