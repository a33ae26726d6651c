import CountersignConcurrency
import Glibc
import Testing

@Suite(.timeLimit(.minutes(10))) struct HostResolverTests {
  @Test(arguments: ["127.0.0.1", "::1", "10.1.2.3"])
  func `An address is its own answer, without a look-up`(address: String) {
    // There is no time for one.
    #expect(HostResolver.addresses(of: address, until: .now - .seconds(1)).map(\.text) == [address])
  }

  @Test func `The name of this machine has an address of its loopback`() {
    let found = HostResolver.addresses(of: "localhost").map(\.text)
    #expect(!found.isEmpty && Set(found).isSubset(of: ["127.0.0.1", "::1"]))
  }

  @Test func `An unknown name has none`() {
    #expect(HostResolver.addresses(of: "name.invalid").isEmpty)
  }

  @Test func `A look-up ends at its limit, or when the caller gives up`() {
    #expect(HostResolver.addresses(of: "localhost", until: .now).isEmpty)
    #expect(HostResolver.addresses(of: "localhost") { true }.isEmpty)
  }

  @Test(arguments: ["127.0.0.1", "::1"])
  func `An address takes a port`(text: String) throws {
    let address = try #require(HostResolver.addresses(of: text).first)
    var service = [CChar](repeating: 0, count: 16)
    let status = address.withSocketAddress(port: 5_672) {
      getnameinfo($0, $1, nil, 0, &service, socklen_t(service.count), NI_NUMERICSERV)
    }
    #expect(status == 0)
    #expect(String(decoding: service.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) == "5672")
  }
}
