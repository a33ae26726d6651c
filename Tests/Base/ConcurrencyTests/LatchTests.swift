import Testing

@testable import CountersignConcurrency

@Suite struct LatchTests {
  @Test(.timeLimit(.minutes(10)))
  func `A wait ends when its limit is over before it has begun`() async {
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

  @Test(.timeLimit(.minutes(10)))
  func `Opening lets all waiting tasks go on, and later ones do not wait`() async {
    let latch = Latch()
    #expect(!latch.isOpen)
    await withTaskGroup(of: Bool.self) { group in
      for number in 0..<8 {
        group.addTask {
          if number.isMultiple(of: 2) { return await latch.wait(atMost: .seconds(30)) }
          await latch.waitIgnoringCancellation()
          return latch.isOpen
        }
      }
      latch.open()
      latch.open()
      for await isOpen in group { #expect(isOpen) }
    }
    #expect(latch.isOpen)
    #expect(await latch.wait(atMost: .zero))
    await latch.waitIgnoringCancellation()
  }

  @Test(.timeLimit(.minutes(10)))
  func `Cancellation ends a wait, begun or not`() async {
    let latch = Latch()
    let task = Task { await latch.wait() }
    task.cancel()
    #expect(await !task.value)
    let late = Task {
      while !Task.isCancelled { await Task.yield() }
      return await latch.wait()
    }
    late.cancel()
    #expect(await !late.value)
  }

  @Test(.timeLimit(.minutes(10)))
  func `A wait that ignores cancellation ends with the opening only`() async {
    let latch = Latch()
    let task = Task {
      await latch.waitIgnoringCancellation()
      return latch.isOpen
    }
    task.cancel()
    for _ in 0..<100 { await Task.yield() }
    latch.open()
    #expect(await task.value)
  }

  @Test(.timeLimit(.minutes(10)))
  func `Opening cancels work; work that ends by itself needs no opening`() async {
    let latch = Latch()
    await latch.cancelingWhenOpen { #expect(!Task.isCancelled) }
    #expect(!latch.isOpen)
    await latch.cancelingWhenOpen {
      let endless = Latch()
      latch.open()
      #expect(await !endless.wait())
    }
  }
}
