import TestSupport
import Testing

@testable import SMPP

@Suite struct OutputBufferTests {
  private func unwritten(_ buffer: OutputBuffer) -> [UInt8] {
    var bytes: [UInt8] = []
    _ = buffer.withUnwritten {
      bytes = Array($0)
      return .mustWait
    }
    return bytes
  }

  @Test func `A message is unsent until its first byte is written`() {
    var buffer = OutputBuffer()
    buffer.append([1, 2], ticket: 1)
    buffer.append([3], ticket: nil)
    buffer.append([4, 5], ticket: 2)
    #expect(buffer.unsent == [1, 2])
    buffer.didWrite(1)
    #expect(buffer.unsent == [2] && unwritten(buffer) == [2, 3, 4, 5])
    buffer.didWrite(2)
    #expect(buffer.unsent == [2])
    buffer.didWrite(2)
    #expect(buffer.unsent.isEmpty && buffer.isEmpty)
    buffer.append([6], ticket: 3)
    #expect(buffer.unsent == [3] && unwritten(buffer) == [6])
  }

  @Test(arguments: [1 as UInt64, 2, 3])
  func `A buffer that is never empty keeps nothing that was written, and loses nothing`(seed: UInt64) {
    var random = SplitMix(state: seed)
    var buffer = OutputBuffer()
    var (expected, written, ticket): ([UInt8], Int, UInt64) = ([], 0, 0)
    var begins: [UInt64: Int] = [:]
    for _ in 0..<4_000 {
      ticket += 1
      let pdu = (0..<Int.random(in: 1...300, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      begins[ticket] = written + expected.count
      buffer.append(pdu, ticket: ticket)
      expected += pdu
      guard expected.count > 1000 else { continue }
      let count = expected.count - Int.random(in: 1...900, using: &random)
      #expect(unwritten(buffer).prefix(count) == expected.prefix(count))
      buffer.didWrite(count)
      written += count
      expected.removeFirst(count)
      #expect(!buffer.isEmpty && buffer.keptBytes < 100_000)
      begins = begins.filter { $0.value >= written }
      #expect(buffer.unsent == Set(begins.keys))
    }
  }

  @Test func `Data that the server does not read is bounded`() {
    var buffer = OutputBuffer()
    buffer.append([UInt8](repeating: 0, count: OutputBuffer.maxBytes), ticket: 1)
    #expect(!buffer.isOverfull)
    buffer.append([0], ticket: 2)
    #expect(buffer.isOverfull && buffer.unsent == [1, 2])
    buffer.didWrite(1)
    #expect(!buffer.isOverfull)
  }
}
