import CountersignTelemetry
import Testing

@testable import Coordination

@Suite("docs/coordinator.md")
struct CoordinatorPageTests {
  private let page: Page
  private let policy = VerificationPolicy()
  private let conversion = ConversionPolicy()

  init() throws {
    page = try Page("docs/coordinator.md")
  }

  @Test("Numbers of handles and guesses are those of the policy")
  func numbersOfHandlesAndGuessesAreThoseOfThePolicy() {
    page.expect(
      """
      A code has at most \(word(VerificationPolicy.maxHandles)) handles, the last \
      \(word(VerificationPolicy.handlesForProven)) for proven devices
      """)
    page.expect(
      """
      The first handle has `checksPerCode` for itself, a later one \(word(policy.checks(ofHandle: 2))); all later ones \
      share as many as the first, the last \(word(VerificationPolicy.checksForProvenHandles)) of them for proven devices.
      """)
    #expect(policy.checks(ofHandle: 1) == policy.laterChecks)
    #expect(VerificationPolicy.minimumResendLifetime == .seconds(60))
    page.expect("A code with less than a minute left is not sent again")
  }

  @Test("Waits are those of the code")
  func waitsAreThoseOfTheCode() {
    #expect(DueSweep.pause == .seconds(3600))
    page.expect("A row that cannot be processed is delayed by an hour")
    page.expect("every \(Turn.heartbeat.seconds) seconds on this connection")
    #expect(ProofPolicy().refusedTokenMemory == .seconds(3600))
    page.expect("for an hour `app.verify` for the same device token is answered with it")
    page.expect("ends as unknown \(word(RevocationPolicy.grace.hours)) hours after its deadline")
  }

  @Test("Figures of the conversion are those of the defaults")
  func figuresOfTheConversionAreThoseOfTheDefaults() {
    page.expect(
      """
      If fewer than \(conversion.floorPercent) % come back within an hour (of at least \(conversion.minimumPerPrefix) \
      per prefix or \(conversion.minimumPerRegion) per region), sending there stops for \(conversion.blockLength.hours) \
      hours
      """)
    #expect(conversion.window == .seconds(3600))
    page.expect("windows of \(word(Int(ConversionWindow.slotCount))) slots")
    page.expect(
      """
      of each known requester \(word(ConversionSources.share)) verifications without a code count within the window
      """)
  }

  @Test("So many requesters are the least that closes a region")
  func soManyRequestersAreTheLeastThatClosesARegion() throws {
    func closes(_ requesters: Int, verified: Int) -> Bool {
      var guarding = ConversionGuard(conversion, maximumLifetime: policy.maximumLifetime)
      let now = UnixTime(seconds: 1_800_000_000)
      func count(_ outcome: ConversionEnding.Outcome, _ index: Int, _ source: [UInt8]) -> Bool {
        // Each of a prefix of its own, so that none is closed for its prefix.
        let ending = ConversionEnding(
          prefix: "+1\(10_000 + index)", region: "US", outcome: outcome, createdAt: now - .seconds(60), endedAt: now,
          source: source)
        return guarding.count(ending, at: now).contains { $0.scope == .region }
      }
      for index in 0..<verified { _ = count(.verified, index, []) }
      // Far more than count of each.
      return (0..<requesters * 20).contains { index in
        count(.expired, verified + index, [UInt8(index % requesters), 1])
      }
    }
    let found = try #require(
      (1...100).first { requesters in (0..<25).contains { closes(requesters, verified: $0) } })
    page.expect("at least \(found) requesters")
  }
}
