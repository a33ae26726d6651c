import TestSupport
import Testing

@testable import CountersignConcurrency

@Suite struct RingBufferTests {
  @Test func `The order is kept while the buffer wraps and grows`() {
    var buffer = RingBuffer<Int>()
    var model: [Int] = []
    var random = SplitMix(state: 1)
    for number in 0..<5000 {
      if random.next() % 5 < 3 {
        buffer.append(number)
        model.append(number)
      } else {
        #expect(buffer.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
      }
      #expect(buffer.count == model.count)
      #expect(buffer.first == model.first)
      if let last = model.indices.last {
        #expect(buffer[last] == model[last])
        buffer[last] = -number
        model[last] = -number
      }
    }
    #expect(buffer.drain() == model)
    #expect(buffer.isEmpty)
  }

  @Test func `Elements taken out of the middle leave the others in order`() {
    var buffer = RingBuffer<Int>()
    for number in 1...600 { buffer.append(number) }
    for number in 1...300 { #expect(buffer.popFirst() == number) }
    // Wraps around the end of the storage.
    for number in 601...900 { buffer.append(number) }
    #expect(buffer.removeAll { $0 > 900 } == [])
    #expect(buffer.removeAll { $0.isMultiple(of: 2) } == Array(stride(from: 302, through: 900, by: 2)))
    #expect(buffer.count == 300)
    buffer.prepend(0)
    #expect(buffer.drain() == [0] + Array(stride(from: 301, to: 900, by: 2)))
  }
}
