import Testing

@testable import CommandLine
@testable import Push

@Suite struct ServiceAccountFindingTests {
  private func finding(_ problem: String?) -> Finding {
    ServiceAccountFinding.finding(
      ServiceAccountCheck.Outcome(lane: "recaptcha", account: "a@p.iam.gserviceaccount.com", problem: problem))
  }

  @Test func `An account that gets tokens is fine`() {
    #expect(finding(nil).status == .ok)
    #expect(finding(nil).check == "service account of lane recaptcha")
    #expect(finding(nil).detail == "Google gives access tokens to a@p.iam.gserviceaccount.com")
  }

  @Test func `An account that gets none says why`() {
    let finding = finding("PROVIDER_CREDENTIALS (invalid_grant.time): The clock is wrong.")
    #expect(finding.status == .failed)
    #expect(finding.detail.hasSuffix("PROVIDER_CREDENTIALS (invalid_grant.time): The clock is wrong."))
    #expect(finding.hint?.contains("push-worker.json5") == true)
  }
}
