import CountersignEncoding
import Testing

@testable import Gateway

@Suite struct ClientAddressTests {
  private func client(_ peer: String, _ forwarded: [String], trusted: [String]) -> String {
    TrustedProxies(ranges: trusted.compactMap { AddressRange($0) }).client(peer: peer, forwarded: forwarded)
  }

  @Test func `Only a trusted proxy is believed`() {
    #expect(client("203.0.113.9", ["198.51.100.1"], trusted: ["10.0.0.0/8"]) == "203.0.113.9")
    #expect(client("203.0.113.9", ["198.51.100.1"], trusted: []) == "203.0.113.9")
    #expect(client("10.0.0.7", ["198.51.100.1"], trusted: ["10.0.0.0/8"]) == "198.51.100.1")
    #expect(client("10.0.0.7", [], trusted: ["10.0.0.0/8"]) == "10.0.0.7")
  }

  @Test func `The right-most address that is not a proxy's counts`() {
    let trusted = ["10.0.0.0/8", "192.0.2.1"]
    #expect(client("10.0.0.7", ["1.2.3.4, 198.51.100.1, 192.0.2.1"], trusted: trusted) == "198.51.100.1")
    // Several fields are one list.
    #expect(client("10.0.0.7", ["1.2.3.4", "198.51.100.1", "192.0.2.1,10.1.1.1"], trusted: trusted) == "198.51.100.1")
    // All are proxies: the first of them asked.
    #expect(client("10.0.0.7", ["10.0.0.9, 10.0.0.8"], trusted: trusted) == "10.0.0.9")
  }

  @Test(
    arguments: [
      "unknown", "_hidden", "", "1.2.3.4.5", "1.2.3.4:x", "[::1", "1.2.3.4%eth0", "fe80::1%", "%eth0",
    ])
  func `What is not an address ends the search`(entry: String) {
    #expect(client("10.0.0.7", ["198.51.100.1, \(entry), 10.0.0.8"], trusted: ["10.0.0.0/8"]) == "10.0.0.8")
    #expect(client("10.0.0.7", [entry], trusted: ["10.0.0.0/8"]) == "10.0.0.7")
  }

  @Test(
    arguments: [
      ("198.51.100.1:443", "198.51.100.1"), ("[2001:DB8::1]:443", "2001:db8::1"), ("[2001:db8::1]", "2001:db8::1"),
      ("2001:0db8:0:0::1", "2001:db8::1"), ("::ffff:198.51.100.1", "198.51.100.1"), ("\t198.51.100.1 ", "198.51.100.1"),
      ("fe80::1%eth0", "fe80::1"), ("[fe80::1%25eth0]:443", "fe80::1"),
    ]) func `Addresses are read with ports and brackets, and written in one form`(entry: String, address: String)
  {
    #expect(client("::ffff:10.0.0.7", [entry], trusted: ["10.0.0.7"]) == address)
  }

  @Test func `Proxies may have IPv6 addresses`() {
    #expect(client("2001:db8:1::5", ["198.51.100.1"], trusted: ["2001:db8:1::/48"]) == "198.51.100.1")
    #expect(client("2001:db8:2::5", ["198.51.100.1"], trusted: ["2001:db8:1::/48"]) == "2001:db8:2::5")
    #expect(client("2001:db8:1:8000::", ["::2"], trusted: ["2001:db8:1:8000::/49"]) == "::2")
    #expect(client("2001:db8:1:7fff::", ["::2"], trusted: ["2001:db8:1:8000::/49"]) == "2001:db8:1:7fff::")
  }

  @Test func `A zone, which means nothing elsewhere, is left out of a peer's address`() {
    #expect(client("fe80::7%eth0", [], trusted: []) == "fe80::7")
    #expect(client("fe80::7%eth0", ["198.51.100.1"], trusted: ["fe80::/10"]) == "198.51.100.1")
  }

  @Test func `Ranges are read`() {
    #expect(AddressRange("10.0.0.0/8")?.bits == 8)
    #expect(AddressRange("10.0.0.1")?.bits == 32)
    #expect(AddressRange("::ffff:10.0.0.0/104")?.bits == 8)
    for text in ["", "/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/x", "10.0.0.0/", "10.0.0", "::/129", "a/8"] {
      #expect(AddressRange(text) == nil, "\(text)")
    }
    for text in ["0.0.0.0/0", "::/0", "0.0.0.0/1", "::/6", "::ffff:0.0.0.0/96"] {
      #expect(AddressRange(text)?.isTooLarge == true, "\(text)")
    }
    #expect(AddressRange("fc00::/7")?.isTooLarge == false)
  }

  @Test func `The header counts behind a trusted proxy, over HTTP`() async throws {
    let trusting = try GatewayBench.echo(proxies: ["127.0.0.1"])
    let headers = [(name: "X-Forwarded-For", value: "1.2.3.4"), (name: "X-Forwarded-For", value: "198.51.100.1")]
    #expect(try await trusting.post(GatewayBench.signUp, "{}", headers: headers)["address"] == .text("198.51.100.1"))
    let plain = try GatewayBench.echo()
    #expect(try await plain.post(GatewayBench.signUp, "{}", headers: headers)["address"] == .text("127.0.0.1"))
  }
}
