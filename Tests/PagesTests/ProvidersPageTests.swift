import Testing

@testable import Push
@testable import Revocation
@testable import SMPP
@testable import SMS

@Suite struct ProvidersPageTests {
  private let page: Page

  init() throws {
    page = try Page("docs/providers.md")
  }

  @Test func `Ages of signatures and tokens are those of the code`() throws {
    page.expect("Vonage's may be \(VonageSignature.maxAge.hours) hours old")
    page.expect(
      """
      renewed at 50 minutes (\(ProviderTokens.shortestLife.minutes) to \(ProviderTokens.longestLife.minutes - 1)). When \
      Apple calls one expired, a new one and new connections are made, unless it is younger than \
      \(ProviderTokens.shortestLife.minutes) minutes
      """)
    try Page("Config/push-worker.json5").expect("providerTokenMinutes: 50")
    #expect(ServiceAccountAssertion.life == .seconds(3600))
    #expect(AccessTokenState.renewalLead == .seconds(300))
    page.expect("a bearer token of an hour, one for the process. Five minutes before its end the next one is requested")
    page.expect("Its client secret is a JWT (ES256, \(word(ClientSecret.life.minutes)) minutes).")
  }

  @Test func `Tries and memories are those of the code`() {
    page.expect("up to \(word(APNsLane.maxTries)) times within the call")
    page.expect("each session remembers its last \(grouped(RecentIDs.capacity)) SMS")
  }
}
