import Testing

@testable import CountersignConcurrency

@Suite struct StatusBoxTests {
  @Test func `Readers on any thread see one of the statuses that were set, and the last one at the end`() async {
    let box = StatusBox((first: 0, second: 0))
    await withDiscardingTaskGroup { group in
      group.addTask { for number in 1...10_000 { box.value = (number, -number) } }
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<2_000 {
            let status = box.value
            #expect(status.first == -status.second)
          }
        }
      }
    }
    #expect(box.value == (10_000, -10_000))
  }
}
