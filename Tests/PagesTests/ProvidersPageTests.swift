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
    let (shortest, longest) = (ProviderTokens.shortestLife.minutes, ProviderTokens.longestLife.minutes)
    page.expect("\(VonageSignature.maxAge.hours) hours old", "50 minutes (\(shortest) to \(longest - 1))")
    try Page("Config/push-worker.json5").expect("providerTokenMinutes: 50")
    page.expect("ES256, \(word(ClientSecret.life.minutes)) minutes")
  }

  @Test func `Tries and memories are those of the code`() {
    page.expect("\(word(APNsLane.maxTries)) times", "\(grouped(RecentIDs.capacity)) SMS")
  }
}
