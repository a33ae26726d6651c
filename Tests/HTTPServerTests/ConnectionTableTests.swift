import Testing

@testable import HTTPServer

@Suite struct ConnectionTableTests {
  private let start = ContinuousClock.now
  private let one = ClientKey(ipv4: 1)
  private let two = ClientKey(ipv4: 2)

  private func late(_ table: ConnectionTable, after seconds: Int) -> [Int32] {
    var ended: [Int32] = []
    table.endLate(at: start + .seconds(seconds)) { ended.append($0) }
    return ended.sorted()
  }

  @Test func aClientHasItsOwnConnectionsOnly() {
    let table = ConnectionTable(maxPerClient: 2, requestTime: nil)
    table.opened(.init(10), one, descriptor: 3, at: start)
    #expect(table.accepts(one))
    table.opened(.init(11), one, descriptor: 4, at: start)
    #expect(!table.accepts(one))
    #expect(table.accepts(two))
    table.closed(.init(10))
    #expect(table.accepts(one))
    table.closed(.init(10))
    table.opened(.init(12), one, descriptor: 5, at: start)
    #expect(!table.accepts(one))
  }

  @Test func onlyWhatTheClientOwesIsLate() {
    let table = ConnectionTable(maxPerClient: nil, requestTime: .seconds(10))
    table.opened(.init(10), one, descriptor: 3, at: start)
    table.opened(.init(11), one, descriptor: 4, at: start + .seconds(5))
    table.opened(.init(12), two, descriptor: 5, at: start)
    table.handles(.init(12))
    #expect(late(table, after: 9) == [])
    #expect(late(table, after: 10) == [3])
    // Once: libmicrohttpd closes it when it comes to it.
    #expect(late(table, after: 11) == [])
    table.closed(.init(11))
    table.waits(.init(12), at: start + .seconds(20))
    #expect(late(table, after: 29) == [])
    #expect(late(table, after: 30) == [5])
  }

  @Test func withoutABoundNothingIsLate() {
    let table = ConnectionTable(maxPerClient: nil, requestTime: nil)
    table.opened(.init(10), one, descriptor: 3, at: start)
    #expect(late(table, after: 1_000_000) == [])
  }

  @Test func aClientIsAnAddressOrANetworkOf64Bits() {
    func ipv6(_ groups: [UInt16]) -> ClientKey {
      ClientKey(ipv6: groups.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] })
    }
    #expect(ipv6([0x2001, 0xDB8, 1, 2, 3, 4, 5, 6]) == ipv6([0x2001, 0xDB8, 1, 2, 9, 9, 9, 9]))
    #expect(ipv6([0x2001, 0xDB8, 1, 2, 3, 4, 5, 6]) != ipv6([0x2001, 0xDB8, 1, 3, 3, 4, 5, 6]))
    let address = UInt32(0x7F00_0001).bigEndian
    #expect(ipv6([0, 0, 0, 0, 0, 0xFFFF, 0x7F00, 1]) == ClientKey(ipv4: address))
    #expect(ClientKey(nil) == ClientKey(nil))
  }
}
