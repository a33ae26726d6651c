import TestSupport
import Testing

@testable import CountersignAMQP

struct AckWindowTests {
  private func window(_ count: UInt64) -> AckWindow {
    var window = AckWindow()
    for tag in 1...count { #expect(window.deliver(tag) == true) }
    return window
  }

  @Test func `A run from the start is acknowledged at once`() {
    var window = window(10)
    for tag: UInt64 in [3, 1, 2] { #expect(window.finish(tag) == true) }
    #expect(window.flush() == AckWindow.Flush(upTo: 3))
    #expect(window.unacknowledged == 7)
    #expect(window.finished == 0)
    #expect(window.flush().isEmpty)
  }

  @Test func `What was returned can be settled no longer, and later deliveries begin anew`() {
    var window = window(4)
    window.startConsumer()
    #expect(window.deliver(5) == true)
    window.returnAll()
    #expect(window.unacknowledged == 0 && window.carried == 0 && window.outstanding == 0)
    #expect(window.finish(3) == false && window.reject(5) == false)
    window.startConsumer()
    #expect(window.deliver(6) == true)
    #expect(window.outstanding == 1 && window.finish(6) == true)
    #expect(window.flush() == AckWindow.Flush(upTo: 6))
  }

  @Test func `Deliveries of earlier consumers do not count against the prefetch`() {
    var window = window(4)
    #expect(window.outstanding == 4)
    window.startConsumer()
    #expect(window.outstanding == 0)
    for tag: UInt64 in 5...7 { #expect(window.deliver(tag) == true) }
    #expect(window.outstanding == 3)
    for tag: UInt64 in [1, 5] { window.finish(tag) }
    #expect(window.flush() == AckWindow.Flush(upTo: 1))
    #expect(window.outstanding == 3)
    #expect(window.reject(2) == true)
    #expect(window.reject(6) == true)
    #expect(window.outstanding == 2)
    #expect(window.flush(all: true) == AckWindow.Flush(alone: [5]))
    #expect(window.outstanding == 1)
    window.startConsumer()
    #expect(window.carried == 3 && window.outstanding == 0)
    for tag: UInt64 in [3, 4, 7] { window.finish(tag) }
    #expect(window.flush() == AckWindow.Flush(upTo: 7))
    #expect(window.carried == 0 && window.unacknowledged == 0)
  }

  @Test func `Deliveries behind a gap are acknowledged alone on demand`() {
    var window = window(5)
    window.finish(3)
    window.finish(5)
    #expect(window.flush().isEmpty)
    #expect(window.finished == 2)
    window.finish(4)
    #expect(window.flush().isEmpty)
    #expect(window.flush(all: true) == AckWindow.Flush(alone: [3, 4, 5]))
    #expect(window.finished == 0)
    #expect(window.unacknowledged == 2)
    window.finish(1)
    window.finish(2)
    #expect(window.flush() == AckWindow.Flush(upTo: 2))
    #expect(window.unacknowledged == 0)
  }

  @Test func `A gap that closes in time needs no ack of its own`() {
    var window = window(3)
    window.finish(2)
    #expect(window.flush().isEmpty)
    window.finish(1)
    #expect(window.flush() == AckWindow.Flush(upTo: 2))
  }

  @Test func `The target is never a rejected delivery`() {
    var window = window(4)
    window.finish(1)
    #expect(window.reject(2) == true)
    #expect(window.flush() == AckWindow.Flush(upTo: 1))
    #expect(window.reject(3) == true)
    #expect(window.flush().isEmpty)
    #expect(window.unacknowledged == 1)
    window.finish(4)
    #expect(window.flush() == AckWindow.Flush(upTo: 4))
  }

  @Test func `Everything goes out at the end`() {
    var window = window(4)
    window.finish(1)
    window.finish(3)
    #expect(window.flush(all: true) == AckWindow.Flush(upTo: 1, alone: [3]))
    #expect(window.unacknowledged == 2)
  }

  @Test func `Nothing is settled twice`() {
    var window = window(3)
    #expect(window.finish(2) == true)
    #expect(window.finish(2) == false)
    #expect(window.reject(2) == false)
    #expect(window.reject(3) == true)
    #expect(window.reject(3) == false)
    #expect(window.finish(3) == false)
    #expect(window.finish(0) == false)
    #expect(window.finish(4) == false)
    window.finish(1)
    #expect(window.flush() == AckWindow.Flush(upTo: 2))
    #expect(window.finish(1) == false)
  }

  @Test func `Deliveries count up`() {
    var window = AckWindow()
    #expect(window.deliver(2) == false)
    #expect(window.deliver(1) == true)
    #expect(window.deliver(1) == false)
    #expect(window.deliver(2) == true)
  }

  @Test func `One slow delivery does not make it grow`() {
    var window = window(1)
    for tag: UInt64 in 2...10_000 {
      #expect(window.deliver(tag) == true)
      window.finish(tag)
      _ = window.flush(all: true)
    }
    #expect(window.entryCount <= 2 * 256 + 4)
    #expect(window.unacknowledged <= 2)
    // Positions no longer follow from tags, and are found all the same.
    #expect(window.deliver(10_001) == true)
    #expect(window.deliver(10_002) == true)
    #expect(window.reject(10_001) == true)
    #expect(window.finish(10_002) == true)
    #expect(window.finish(1) == true)
    #expect(window.flush().upTo == 10_002)
    #expect(window.unacknowledged == 0)
  }

  /// Whatever the order: each tag is acknowledged exactly once, and never before it is finished.
  @Test(arguments: 1...20)
  func `Any order settles each once`(seed: UInt64) {
    var random = SplitMix(state: seed)
    var window = AckWindow()
    var next: UInt64 = 1
    var open: [UInt64] = []
    var finished: Set<UInt64> = []
    var gone: Set<UInt64> = []
    func apply(_ flush: AckWindow.Flush) {
      var acknowledged = flush.alone
      if let upTo = flush.upTo {
        #expect(finished.contains(upTo))
        acknowledged += (1...upTo).filter { !gone.contains($0) }
      }
      for tag in acknowledged {
        #expect(finished.contains(tag))
        #expect(gone.insert(tag).inserted)
      }
    }
    for _ in 0..<2000 {
      switch random.next() % 5 {
      case 0, 1:
        #expect(window.deliver(next) == true)
        open.append(next)
        next += 1
      case 2, 3:
        guard !open.isEmpty else { continue }
        let tag = open.remove(at: Int(random.next() % UInt64(open.count)))
        if random.next() % 8 == 0 {
          #expect(window.reject(tag) == true)
          gone.insert(tag)
        } else {
          #expect(window.finish(tag) == true)
          finished.insert(tag)
        }
      default: if random.next() % 4 == 0 { apply(window.flush(all: random.next() % 2 == 0)) }
      }
    }
    apply(window.flush(all: true))
    #expect(finished.isSubset(of: gone))
    #expect(window.unacknowledged == open.count)
    #expect(window.finished == 0)
  }
}
