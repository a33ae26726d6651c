import CountersignTelemetry
import Testing

@Suite struct SecrecyTests {
  @Test func `A secret does not print`() {
    let secret = Secret("hunter2")
    var dumped = ""
    dump(secret, to: &dumped)
    for text in ["\(secret)", String(describing: secret), String(reflecting: secret), "\([secret])", dumped] {
      #expect(!text.contains("hunter2"))
    }
    #expect(secret.reveal() == "hunter2")
  }

  @Test(
    arguments: [
      ("+14155550123", "+1415•••••23"),
      ("+491701234567", "+4917••••••67"),
      ("+6512345", "+65•••••"),
      ("4155550123", "4155••••23"),
      ("123456", "12••••"),
      ("", "•••"),
      ("12", "•••"),
      ("call me at 555", "•••"),
      ("123456789012345678901", "•••"),
    ])
  func `Phone numbers are masked`(number: String, shown: String) {
    #expect(Redaction.phoneNumber(number) == shown)
  }
}
