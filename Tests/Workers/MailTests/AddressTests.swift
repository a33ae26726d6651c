import Testing

@testable import Mail

@Suite struct AddressTests {
  @Test(
    arguments: [
      "ada@example.com", "a.b+c@sub.example.co", "x_!#$%&'*+-/=?^`{|}~@example.com", "ünï@example.com", "用户@例え.テスト",
      "ada@xn--bcher-kva.example", "dpdcnf87nu@privaterelay.appleid.com",
    ])
  func `Valid addresses are accepted`(text: String) { #expect(MailAddress(text)?.text == text) }

  @Test(
    arguments: [
      "", "ada", "@example.com", "ada@", "ada@example", "ada@example.com\r\nBcc: b@example.com", "ada@example.com\n",
      "a\nb@example.com", "a b@example.com", "Ada <ada@example.com>", "ada@example.com>", "\"a b\"@example.com",
      ".ada@example.com",
      "ada.@example.com", "a..b@example.com", "ada@[127.0.0.1]", "ada@127.0.0.1", "ada@-example.com",
      "ada@exam_ple.com",
      "ada@example.com,b@example.com", "ada@\u{202E}example.com", "a\u{200B}b@example.com", "ada@example.com\0",
      "a\u{0085}b@example.com", "ada@example.com ",
    ])
  func `Invalid addresses are refused`(text: String) { #expect(MailAddress(text) == nil) }

  @Test func `Lengths of addresses are bounded`() {
    #expect(MailAddress(String(repeating: "a", count: 64) + "@example.com") != nil)
    #expect(MailAddress(String(repeating: "a", count: 65) + "@example.com") == nil)
    #expect(MailAddress("a@" + String(repeating: "a", count: 64) + ".com") == nil)
  }

  @Test func `The domain is in lower case and the key all of it`() {
    let address = MailAddress("Ada.B@Example.COM")
    #expect(address?.text == "Ada.B@example.com")
    #expect(address?.key == "ada.b@example.com")
    #expect("\(address as Any)".contains("Ada") == false)
  }

  @Test(
    arguments: [
      "https://example.com/a?b=c&d=%20", "https://sub.example.com", "https://example.com:8443/x#y",
    ])
  func `Valid links are accepted`(text: String) { #expect(MailPlainText.isLink(text)) }

  @Test(
    arguments: [
      "http://example.com", "https://", "https://localhost/", "javascript:alert(1)", "https://example.com/\r\nX: y",
      "https://example.com/a b", "https://example.com/\"onclick=", "https://example.com/>", "https://user@evil",
    ])
  func `Invalid links are refused`(text: String) { #expect(!MailPlainText.isLink(text)) }

  @Test func `Links of this machine are told from those that only begin like one`() {
    for text in ["http://localhost/a", "http://127.0.0.1:9099/__/auth/action?mode=signIn&oobCode=a%2C"] {
      #expect(MailPlainText.isLocalLink(text) && !MailPlainText.isLink(text), "\(text)")
    }
    for text in [
      "http://localhost", "http://localhost.example.com/", "http://127.0.0.1:80@example.com/",
      "http://127.0.0.1.example/", "http://localhost:a/", "http://localhost/\" x", "http://127.0.0.2/",
      "https://localhost/", "http://localhost\\@a/", "http://localhost/" + String(repeating: "a", count: 900),
    ] { #expect(!MailPlainText.isLocalLink(text), "\(text)") }
  }
}
