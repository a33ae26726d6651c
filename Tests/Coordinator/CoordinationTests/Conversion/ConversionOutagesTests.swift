import CountersignTelemetry
import Testing

@testable import Coordination

@Suite struct ConversionOutagesTests {
  private let begin = UnixTime(seconds: 1_800_000_000)

  private func ending(_ outcome: ConversionEnding.Outcome = .expired, from start: Int, to end: Int) -> ConversionEnding
  {
    ConversionEnding(
      prefix: "+1415555", region: "US", outcome: outcome, createdAt: begin + .seconds(start),
      endedAt: begin + .seconds(end))
  }

  private func hear(_ outages: inout ConversionOutages, _ time: UnixTime) {
    outages.hear(at: time, longestSilence: .seconds(1000))
  }

  /// An outage from 100 to 110 seconds, known of since a look at 99.
  private func outages() -> ConversionOutages {
    var outages = ConversionOutages(startedAt: begin)
    hear(&outages, begin + .seconds(99))
    for second in 100...110 { outages.note(at: begin + .seconds(second)) }
    hear(&outages, begin + .seconds(111))
    return outages
  }

  @Test(
    arguments: [
      (0, 99, false), (0, 100, true), (90, 105, true), (109, 400, true), (110, 400, false), (111, 120, false),
    ])
  func `It covers the verifications of its time, and no other`(start: Int, end: Int, isCovered: Bool) {
    #expect(outages().all.contains { $0.covers(ending(from: start, to: end)) } == isCovered)
  }

  @Test func `It excuses what expired alone: other codes did come back, right or wrong`() async throws {
    let bench = try await ConversionsUnderTest()
    bench.conversions.setUnsaved([ConversionOutage(since: begin, until: begin + .seconds(100))])
    for outcome in [ConversionEnding.Outcome.expired, .failed, .verified] {
      let ending = ending(outcome, from: 10, to: 50)
      _ = try await bench.count(ending, at: ending.endedAt)
    }
    let figures = try await bench.worst(.prefix, at: begin + .seconds(50))
    #expect(figures.map(\.counts) == [ConversionCounts(sent: 2, verified: 1)])
  }

  @Test func `One that goes on is the same one, under the same name; another one begins after a while`() {
    var outages = outages()
    #expect(outages.all == [ConversionOutage(since: begin + .seconds(99), until: begin + .seconds(110))])
    hear(&outages, begin + .seconds(115))
    outages.note(at: begin + .seconds(116))
    #expect(outages.all.map(\.since) == [begin + .seconds(99)])
    hear(&outages, begin + .seconds(122))
    outages.note(at: begin + .seconds(123))
    #expect(outages.all.map(\.since) == [begin + .seconds(99), begin + .seconds(122)])
    outages.forget(before: begin + .seconds(117))
    #expect(outages.all.map(\.until) == [begin + .seconds(123)])
  }

  @Test func `There is a bound to how many are told apart`() {
    var outages = ConversionOutages(startedAt: begin)
    for index in 1...(ConversionOutages.maxCount + 10) {
      hear(&outages, begin + .seconds(index * 100))
      outages.note(at: begin + .seconds(index * 100 + 1))
    }
    #expect(outages.all.count == ConversionOutages.maxCount)
    #expect(outages.all.contains { $0.covers(ending(from: 100, to: 101)) }, "the oldest are one now")
  }

  @Test func `When nobody has looked for too long, nobody could give a code back`() {
    var outages = ConversionOutages(startedAt: begin)
    outages.hear(at: begin + .seconds(10))
    #expect(outages.all.isEmpty)
    outages.hear(at: begin + .seconds(21))
    #expect(outages.all == [ConversionOutage(since: begin + .seconds(10), until: begin + .seconds(21))])
    #expect(outages.all.contains { $0.covers(ending(from: 0, to: 21)) })
    outages.hear(at: begin + .seconds(22))
    #expect(outages.all.count == 1)
    #expect(!outages.all.contains { $0.covers(ending(from: 21, to: 321)) })
  }

  @Test(arguments: [60, 3_600, 86_400])
  func `A clock that was ahead leaves no outage of the future behind`(step: Int) {
    var outages = ConversionOutages(startedAt: begin)
    for second in 0...10 { outages.note(at: begin + .seconds(step + second)) }
    hear(&outages, begin + .seconds(20))
    #expect(!outages.all.contains { $0.covers(ending(from: 20, to: 320)) })
    #expect(!outages.all.contains { $0.covers(ending(from: step, to: step + 300)) })
    hear(&outages, begin + .seconds(30))
    outages.note(at: begin + .seconds(40))
    #expect(outages.all.last == ConversionOutage(since: begin + .seconds(30), until: begin + .seconds(40)))
  }
}
