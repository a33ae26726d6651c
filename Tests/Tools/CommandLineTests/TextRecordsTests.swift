import Glibc
import TestSupport
import Testing

@testable import CommandLine

/// A server of names on a port of its own that gives every question the same answer.
private final class FakeNames: Sendable {
  let port: UInt16
  private let descriptor: Int32

  init(code: UInt8, records: [[String]]) {
    let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    self.descriptor = descriptor
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    port = withUnsafeMutableBytes(of: &address) { bytes in
      let pointer = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
      _ = bind(descriptor, pointer, length)
      getsockname(descriptor, pointer, &length)
      return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
    }
    let answers = records.flatMap(Self.record)
    let count = UInt8(records.count)
    onNewThread { Self.serve(descriptor, code, count, answers) }
  }

  /// The thread that serves closes the socket: another one may get its number at once.
  func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  private static func record(_ texts: [String]) -> [UInt8] {
    let data = texts.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
    return [0xC0, 12, 0, 16, 0, 1, 0, 0, 0, 60, UInt8(data.count >> 8), UInt8(data.count & 255)] + data
  }

  private static func serve(_ descriptor: Int32, _ code: UInt8, _ count: UInt8, _ answers: [UInt8]) {
    var buffer = [UInt8](repeating: 0, count: 512)
    var peer = sockaddr_storage()
    while true {
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let received = withUnsafeMutableBytes(of: &peer) { bytes in
        recvfrom(
          descriptor, &buffer, buffer.count, 0, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
      }
      guard received > 12 else {
        close(descriptor)
        return
      }
      // The question ends behind its name, type and class; what may follow (EDNS) is not answered.
      var end = 12
      while buffer[end] != 0 { end += Int(buffer[end]) + 1 }
      let header: [UInt8] = [buffer[0], buffer[1], 0x81, 0x80 | code, 0, 1, 0, count, 0, 0, 0, 0]
      let reply = header + buffer[12..<(end + 5)] + answers
      _ = withUnsafeMutableBytes(of: &peer) { bytes in
        sendto(descriptor, reply, reply.count, 0, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), length)
      }
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct TextRecordsTests {
  private func texts(_ server: FakeNames) async throws -> [String] {
    defer { server.stop() }
    return try await TextRecords(port: server.port, timeout: .seconds(30)).of("name.example.com")
  }

  @Test func `The strings of a record belong together`() async throws {
    let server = FakeNames(code: 0, records: [["v=DKIM1; p=", "abc"], ["second"]])
    #expect(try await texts(server) == ["v=DKIM1; p=abc", "second"])
  }

  @Test(arguments: [(0, "no data"), (3, "no such name")] as [(UInt8, String)])
  func `Nothing there is no error`(code: UInt8, _: String) async throws {
    #expect(try await texts(FakeNames(code: code, records: [])) == [])
  }

  @Test func `A refusal is an error`() async {
    await #expect(throws: TextRecords.Failure.self) { _ = try await texts(FakeNames(code: 5, records: [])) }
  }
}
