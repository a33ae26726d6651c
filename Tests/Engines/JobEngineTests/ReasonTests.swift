import Testing

@testable import JobEngine

@Suite struct ReasonTests {
  @Test(
    arguments: [
      Reason("CONNECT_FAILED", "No route to host: gave up."),
      Reason("REFUSED", "No such number.", providerCode: "21211"),
    ])
  func `It is read back from the header`(_ reason: Reason) {
    #expect(Reason(lastError: reason.description) == reason)
  }

  @Test(arguments: ["", "free text", "lower: case", ": x"])
  func `Other texts are no reasons`(_ text: String) {
    #expect(Reason(lastError: text) == nil)
  }
}
