import Synchronization
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

  @Test func `A client has its own connections only`() {
    let table = ConnectionTable(maxPerClient: 2, requestTime: nil)
    table.opened(.init(10), one, descriptor: 3)
    #expect(table.accepts(one))
    table.opened(.init(11), one, descriptor: 4)
    #expect(!table.accepts(one))
    #expect(table.accepts(two))
    table.closed(.init(10))
    #expect(table.accepts(one))
    table.closed(.init(10))
    table.opened(.init(12), one, descriptor: 5)
    #expect(!table.accepts(one))
  }

  @Test func `Only what the client owes is late`() {
    let table = ConnectionTable(maxPerClient: nil, requestTime: .seconds(10), received: { _ in 0 })
    table.opened(.init(10), one, descriptor: 3)
    table.begins(.init(10), at: start)
    table.opened(.init(11), one, descriptor: 4)
    table.begins(.init(11), at: start + .seconds(5))
    table.opened(.init(12), two, descriptor: 5)
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

  @Test func `A connection between requests is never late`() {
    let table = ConnectionTable(maxPerClient: nil, requestTime: .seconds(10), received: { _ in 80 })
    table.opened(.init(10), one, descriptor: 3)
    table.begins(.init(10), at: start)
    table.handles(.init(10))
    table.waits(.init(10), at: start + .seconds(1))
    table.rests(.init(10))
    #expect(late(table, after: 1_000_000) == [])
  }

  @Test func `A request begins with its first byte`() {
    let bytes = Mutex<UInt64>(0)
    let table = ConnectionTable(
      maxPerClient: nil, requestTime: .seconds(10), received: { _ in bytes.withLock { $0 } })
    table.opened(.init(10), one, descriptor: 3)
    #expect(late(table, after: 100) == [])
    bytes.withLock { $0 = 1 }
    #expect(late(table, after: 101) == [])
    // More of them change nothing, nor does the end of the request line.
    bytes.withLock { $0 = 2 }
    #expect(late(table, after: 105) == [])
    table.begins(.init(10), at: start + .seconds(110))
    #expect(late(table, after: 110) == [])
    #expect(late(table, after: 111) == [3])
    // The same behind a first request.
    table.opened(.init(11), one, descriptor: 4)
    table.rests(.init(11))
    #expect(late(table, after: 200) == [])
    bytes.withLock { $0 = 3 }
    #expect(late(table, after: 201) == [])
    #expect(late(table, after: 211) == [4])
  }

  @Test func `Without a bound nothing is late`() {
    let table = ConnectionTable(maxPerClient: nil, requestTime: nil)
    table.opened(.init(10), one, descriptor: 3)
    table.begins(.init(10), at: start)
    #expect(late(table, after: 1_000_000) == [])
  }

  @Test func `A client is an address or a network of64 bits`() {
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
