import CountersignTelemetry
import Testing

@testable import Coordination

@Suite("Outages and the conversion")
struct ConversionOutagesTests {
  private let begin = UnixTime(seconds: 1_800_000_000)

  private func ending(_ outcome: ConversionEnding.Outcome = .expired, from start: Int, to end: Int) -> ConversionEnding
  {
    ConversionEnding(
      prefix: "+1415555", region: "US", outcome: outcome, createdAt: begin + .seconds(start),
      endedAt: begin + .seconds(end))
  }

  private func hear(_ outages: inout ConversionOutages, _ time: UnixTime) {
    #expect(outages.hear(at: time, longestSilence: .seconds(1000)) == nil)
  }

  /// An outage from 100 to 110 seconds, known of since a look at 99.
  private func outages() -> ConversionOutages {
    var outages = ConversionOutages(startedAt: begin)
    hear(&outages, begin + .seconds(99))
    for second in 100...110 { _ = outages.note(at: begin + .seconds(second)) }
    hear(&outages, begin + .seconds(111))
    return outages
  }

  @Test(
    "It excuses what expired of the verifications of its time, and nothing else",
    arguments: [
      (0, 99, false), (0, 100, true), (90, 105, true), (109, 400, true), (110, 400, false), (111, 120, false),
    ])
  func itExcusesWhatExpiredOfTheVerificationsOfItsTimeAndNothing(start: Int, end: Int, isCovered: Bool) {
    #expect(outages().cover(ending(from: start, to: end)) == isCovered)
    #expect(!outages().cover(ending(.verified, from: start, to: end)))
    #expect(!outages().cover(ending(.failed, from: start, to: end)), "wrong codes did come back")
  }

  @Test("One that goes on is the same one, under the same name; another one begins after a while")
  func oneThatGoesOnIsTheSameOneUnderTheSameNameAnotherOneBegins() {
    var outages = outages()
    #expect(outages.all == [ConversionOutage(since: begin + .seconds(99), until: begin + .seconds(110))])
    hear(&outages, begin + .seconds(115))
    #expect(outages.note(at: begin + .seconds(116)).since == begin + .seconds(99))
    hear(&outages, begin + .seconds(122))
    #expect(outages.note(at: begin + .seconds(123)).since == begin + .seconds(122))
    #expect(outages.all.count == 2)
    outages.forget(before: begin + .seconds(117))
    #expect(outages.all.map(\.until) == [begin + .seconds(123)])
  }

  @Test("There is a bound to how many are told apart")
  func thereIsABoundToHowManyAreToldApart() {
    var outages = ConversionOutages(startedAt: begin)
    for index in 1...(ConversionOutages.maxCount + 10) {
      hear(&outages, begin + .seconds(index * 100))
      _ = outages.note(at: begin + .seconds(index * 100 + 1))
    }
    #expect(outages.all.count == ConversionOutages.maxCount)
    #expect(outages.cover(ending(from: 100, to: 101)), "the oldest are one now")
  }

  @Test("When nobody has looked for too long, nobody could give a code back")
  func whenNobodyHasLookedForTooLongNobodyCouldGiveACodeBack() {
    var outages = ConversionOutages(startedAt: begin)
    #expect(outages.hear(at: begin + .seconds(10)) == nil)
    let outage = outages.hear(at: begin + .seconds(21))
    #expect(outage == ConversionOutage(since: begin + .seconds(10), until: begin + .seconds(21)))
    #expect(outages.cover(ending(from: 0, to: 21)))
    #expect(outages.hear(at: begin + .seconds(22)) == nil)
    #expect(!outages.cover(ending(from: 21, to: 321)))
  }

  @Test("A clock that was ahead leaves no outage of the future behind", arguments: [60, 3_600, 86_400])
  func aClockThatWasAheadLeavesNoOutageOfTheFutureBehind(step: Int) {
    var outages = ConversionOutages(startedAt: begin)
    for second in 0...10 { _ = outages.note(at: begin + .seconds(step + second)) }
    hear(&outages, begin + .seconds(20))
    #expect(!outages.cover(ending(from: 20, to: 320)))
    #expect(!outages.cover(ending(from: step, to: step + 300)))
    hear(&outages, begin + .seconds(30))
    let next = outages.note(at: begin + .seconds(40))
    #expect(next == ConversionOutage(since: begin + .seconds(30), until: begin + .seconds(40)))
  }
}
