import Testing

@testable import CountersignAMQP

@Suite("Latch") struct LatchTests {
  @Test("A wait ends when its limit is over before it has begun", .timeLimit(.minutes(1)))
  func waitsEndInTime() async {
    let latch = Latch()
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<64 {
        group.addTask {
          for _ in 0..<500 where await latch.wait(atMost: .zero) { return true }
          return false
        }
      }
      for await isOpen in group { #expect(!isOpen) }
    }
  }
}
