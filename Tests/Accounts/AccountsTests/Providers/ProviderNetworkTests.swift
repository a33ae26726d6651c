import CountersignEncoding
import HTTPClient
import TestSupport
import Testing

@testable import Accounts

@Suite("The way to identity providers") struct ProviderNetworkTests {
  @Test(arguments: [
    "10.0.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.168.1.1", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "255.255.255.255", "198.18.0.1", "::1", "::", "fe80::1", "fd00::1", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::a00:1",
    "2002:a00:1::", "2001:db8::1", "2001::1", "64:ff9b:1::1", "fec0::1",
  ])
  func `Addresses that are not of the public internet are known`(_ text: String) {
    #expect(IPAddress(text)?.isPublic == false)
  }

  @Test(arguments: ["17.253.1.1", "8.8.8.8", "172.32.0.1", "2620:149:af0::10", "64:ff9b::808:808", "::ffff:8.8.8.8"])
  func `Addresses of the public internet are known`(_ text: String) {
    #expect(IPAddress(text)?.isPublic == true)
  }

  @Test func `Without TLS only this machine is called, whatever address the operator has written`() {
    let allowed = AllowedAddresses(authorities: ["id.example.lan", "127.0.0.1:9000"])
    let network = ProviderNetwork(allowed) { _ throws(TransportError) in HTTPResponse(status: 200) }
    #expect(network.mayCall("https://id.example.lan/token") && network.mayCall("http://127.0.0.1:9000/token"))
    for url in ["http://id.example.lan/token", "http://127.0.0.1:9001/token", "ftp://127.0.0.1:9000/token"] {
      #expect(!network.mayCall(url))
    }
  }

  @Test func `A provider that hangs takes its own places alone`() {
    let places = ProviderPlaces()
    for _ in 0..<ProfileFetch.maxAtOnce { #expect(places.take(of: "https://a.example")) }
    #expect(!places.take(of: "https://a.example") && places.take(of: "https://b.example"))
    places.giveBack(of: "https://a.example")
    #expect(places.take(of: "https://a.example"))
  }

  @Test func `A name that leads to an inner address is not connected to, unless the operator has written it`()
    async throws
  {
    let server = RawServer { server, peer, _ in
      guard server.read(peer) else { return }
      peer.write("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/elsewhere\r\nContent-Length: 0\r\n\r\n")
    }
    defer { server.stop() }
    let url = server.url
    let authority = String(url.dropFirst("http://".count).prefix { $0 != "/" })
    let refused = ProviderNetwork(AllowedAddresses()) { _ throws(TransportError) in HTTPResponse(status: 200) }
    await #expect(throws: TransportError.self) { try await refused.get(url) }
    let network = try ProviderNetwork(AllowedAddresses(authorities: [authority]))
    #expect(try await network.get(url).status == 302, "redirects are not followed")
    var configuration = HTTPClient.Configuration()
    configuration.allowsAddress = { AllowedAddresses().allows($0, $1) }
    let client = try HTTPClient(configuration)
    let error = await #expect(throws: TransportError.self) {
      try await client.send(HTTPRequest(method: "GET", url: url))
    }
    #expect(error?.kind == .connect && error?.description.contains("not allowed") == true)
    #expect(error?.requestMayHaveLeft == false && server.requests.count == 1)
  }
}
