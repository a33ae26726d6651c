import Testing

@testable import CountersignAMQP

struct RingBufferTests {
  @Test func itKeepsTheOrderWhileItWrapsAndGrows() {
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
}
