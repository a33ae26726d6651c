import Testing

@testable import JobEngine

@Suite struct ReasonTests {
  @Test(arguments: [
    Reason("CONNECT_FAILED", "No route to host: gave up."), Reason("REFUSED", "No such number.", providerCode: "21211"),
  ])
  func itIsReadBackFromTheHeader(_ reason: Reason) {
    #expect(Reason(lastError: reason.description) == reason)
  }

  @Test(arguments: ["", "free text", "lower: case", ": x"])
  func otherTextsAreNoReasons(_ text: String) {
    #expect(Reason(lastError: text) == nil)
  }
}
