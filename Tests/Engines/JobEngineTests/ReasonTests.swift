import Testing

@testable import JobEngine

@Suite struct ReasonTests {
  @Test(
    "It is read back from the header",
    arguments: [
      Reason("CONNECT_FAILED", "No route to host: gave up."),
      Reason("REFUSED", "No such number.", providerCode: "21211"),
    ])
  func itIsReadBackFromTheHeader(_ reason: Reason) {
    #expect(Reason(lastError: reason.description) == reason)
  }

  @Test("Other texts are no reasons", arguments: ["", "free text", "lower: case", ": x"])
  func otherTextsAreNoReasons(_ text: String) {
    #expect(Reason(lastError: text) == nil)
  }
}
