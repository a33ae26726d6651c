import Testing

@testable import Benchmarks

@Suite struct JobLoadTests {
  @Test func `A rate is jobs a second`() throws {
    #expect(try JobLoad.rate(of: 450, in: .milliseconds(1_500)) == 300)
  }

  @Test(
    arguments: [(450, Duration.zero), (0, .seconds(1)), (0, .zero)])
  func `Jobs that end between two looks at the queue have no rate, and the error tells the remedy`(
    jobs: Int, time: Duration
  ) {
    let error = #expect(throws: BenchmarkError.self) { try JobLoad.rate(of: jobs, in: time) }
    #expect(error?.description.contains("use more of them") == true)
  }
}
