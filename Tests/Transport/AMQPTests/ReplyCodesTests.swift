import Testing

@testable import CountersignAMQP

struct ReplyCodesTests {
  @Test func `Only what a publication can cause is blamed on it`() {
    for code in [501, 502, 503, 504, 505, 540, 541] { #expect(ReplyCodes.mayBeDueToPublication(code)) }
    for code in [320, 402, 506, 530] { #expect(!ReplyCodes.mayBeDueToPublication(code)) }
    #expect(!ReplyCodes.mayBeDueToPublication(nil))
  }
}
