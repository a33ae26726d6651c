import CountersignTelemetry
import Testing

@testable import SMS

@Suite struct TwilioSignatureTests {
  private let signature = TwilioSignature(authToken: Secret("12345"))
  private let url = "https://mycompany.com/myapp.php?foo=1&bar=2"
  private let fields = [
    (name: "To", value: "+18005551212"), (name: "CallSid", value: "CA1234567890ABCDE"), (name: "Digits", value: "1234"),
    (name: "From", value: "+14158675309"), (name: "Caller", value: "+14158675309"),
  ]

  @Test func `The published example, whatever the order of the fields`() {
    #expect(signature.isValid("RSOYDt4T1cUTdK1PDd93/VVr8B8=", url: url, fields: fields))
    #expect(signature.isValid("RSOYDt4T1cUTdK1PDd93/VVr8B8=", url: url, fields: fields.reversed()))
  }

  @Test func `The published example with names that begin alike, and a value that comes twice`() {
    let fields = [
      (name: "Sid", value: "CA123"), (name: "SidAccount", value: "AC123"), (name: "Digits", value: "5678"),
      (name: "Digits", value: "1234"), (name: "Digits", value: "1234"),
    ]
    #expect(signature.isValid("IK+Dwps556ElfBT0I3Rgjkr1wJU=", url: url, fields: fields))
  }

  @Test(
    arguments: [
      ("https://mycompany.com:443/myapp.php?foo=1&bar=2", true),
      ("https://mycompany.com:8443/myapp.php?foo=1&bar=2", true),
      ("http://mycompany.com/myapp.php?foo=1&bar=2", false),
      ("https://mycompany.com/myapp.php?foo=1&bar=3", false),
      ("https://mycompany.org/myapp.php?foo=1&bar=2", false),
    ])
  func `With the port and without it`(url: String, isValid: Bool) {
    #expect(signature.isValid("RSOYDt4T1cUTdK1PDd93/VVr8B8=", url: url, fields: fields) == isValid)
  }

  @Test func `Twilio may have added the port`() {
    // Computed apart from this code, for the address with :443.
    let made = "kvajT1Ptam85bY51eRf/AJRuM3w="
    #expect(signature.isValid(made, url: "https://mycompany.com:443/myapp.php?foo=1&bar=2", fields: fields))
    #expect(signature.isValid(made, url: url, fields: fields))
  }

  @Test(arguments: ["", "FAIL", "RSOYDt4T1cUTdK1PDd93/VVr8B9=", "?"])
  func `Another value, another token, no base64`(text: String) {
    #expect(!signature.isValid(text, url: url, fields: fields))
    #expect(!signature.isValid("RSOYDt4T1cUTdK1PDd93/VVr8B8=", url: url, fields: fields.dropLast()))
    #expect(
      !TwilioSignature(authToken: Secret("12346"))
        .isValid("RSOYDt4T1cUTdK1PDd93/VVr8B8=", url: url, fields: fields))
  }
}
