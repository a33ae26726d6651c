import RecordStore
import Testing

@testable import CrashMarks

@Suite struct MarkPlanTests {
  @Test(
    arguments: [
      ([], MarkTreatment.group),
      ([MarkRecord(number: 1, owner: .living, isAlone: true, deaths: 2)], .group),
      ([MarkRecord(number: 1, owner: .ourselves)], .group),
      ([MarkRecord(number: 1, owner: .dead)], .alone),
      ([MarkRecord(number: 1, owner: .dead, isAlone: true)], .alone),
      ([MarkRecord(number: 1, owner: .dead, isAlone: true, isSuspect: true, deaths: 1)], .alone),
      ([MarkRecord(number: 1, owner: .dead, isAlone: false, isSuspect: true, deaths: 2)], .alone),
      ([MarkRecord(number: 1, owner: .dead, isAlone: true, isSuspect: true, deaths: 2)], .bury),
      ([MarkRecord(number: 1, owner: .dead, isAlone: true, isSuspect: true, deaths: 3)], .leave),
      ([MarkRecord(number: 1, owner: .ourselves, isAlone: true, isSuspect: true, deaths: 2)], .alone),
      ([MarkRecord(number: 0, owner: .nobody, isSuspect: true, deaths: 1)], .alone),
      ([MarkRecord(number: 0, owner: .nobody, begun: 2)], .group),
      (
        [
          MarkRecord(number: 1, owner: .dead, isAlone: true, isSuspect: true, deaths: 1),
          MarkRecord(number: 2, owner: .living, isAlone: true, isSuspect: true, deaths: 9),
          MarkRecord(number: 0, owner: .nobody, isSuspect: true, deaths: 1),
        ], .bury
      ),
    ])
  func `Marks decide the next step`(records: [MarkRecord], treatment: MarkTreatment) {
    #expect(MarkPlan.treatment(MarkStanding(records)) == treatment)
  }

  @Test(
    arguments: [(1, MarkTreatment.group), (18, .group), (19, .bury), (50, .bury)])
  func `Without a store the twentieth delivery is the last`(redeliveries: Int, treatment: MarkTreatment) {
    #expect(MarkPlan.treatment(redeliveries: redeliveries) == treatment)
  }

  @Test func `Unsuspected messages come first and the most suspect last`() {
    let treatments: [MarkTreatment] = [.alone, .group, .bury, .alone, .leave, .group, .alone]
    let steps = MarkPlan.steps(treatments, deaths: [2, 0, 3, 0, 4, 0, 0])
    #expect(
      steps == [
        .init(treatment: .leave, places: [4]), .init(treatment: .bury, places: [2]),
        .init(treatment: .group, places: [1, 5]), .init(treatment: .alone, places: [3]),
        .init(treatment: .alone, places: [6]), .init(treatment: .alone, places: [0]),
      ])
  }

  @Test func `Messages that keep their order wait for the suspects before them`() {
    let steps = MarkPlan.stepsInOrder([.group, .group, .alone, .group, .bury, .group])
    #expect(steps.map(\.places) == [[0, 1], [2], [3], [4], [5]])
    #expect(steps.map(\.treatment) == [.group, .alone, .group, .bury, .group])
    #expect(
      MarkPlan.stepsInOrder(Array(repeating: .group, count: 40)).map(\.places) == [
        Array(0..<16), Array(16..<32), Array(32..<40),
      ])
  }

  @Test func `Groups are bounded`() {
    let steps = MarkPlan.steps(Array(repeating: .group, count: 40), deaths: Array(repeating: 0, count: 40))
    #expect(steps.map(\.places.count) == [16, 16, 8])
  }

  @Test func `Deliveries that were marked are counted`() {
    let standing = MarkStanding([
      MarkRecord(number: 1, owner: .dead, begun: 1), MarkRecord(number: 2, owner: .living),
      MarkRecord(number: 0, owner: .nobody, begun: 1),
    ])
    #expect(standing.begun == 4)
    #expect(standing.replaced == [1, 0])
  }

  /// A machine whose process dies of some messages, with as many restarts as it needs.
  @Test(
    arguments: [[7], [0], [99], [20, 21, 50], Array(0..<20)])
  func `Innocents are settled and culprits buried within the bound`(culprits: [Int]) {
    var marks: [Int: MarkRecord] = [:]
    var deliveries = Array(repeating: 0, count: 100)
    var settled: Set<Int> = []
    var buried: Set<Int> = []
    var crashes = 0
    // The first delivery has no marks, and dies of the first of them.
    for number in 0..<100 { deliveries[number] += 1 }
    while settled.count + buried.count < 100 {
      crashes += 1
      let waiting = (0..<100).filter { !settled.contains($0) && !buried.contains($0) }
      for number in waiting { deliveries[number] += 1 }
      let standings = waiting.map { MarkStanding(marks[$0].map { [$0] } ?? []) }
      let steps = MarkPlan.steps(standings.map(MarkPlan.treatment), deaths: standings.map(\.deaths))
      step: for step in steps {
        for place in step.places {
          let standing = standings[place]
          marks[waiting[place]] = MarkRecord(
            number: 1, owner: .dead, isAlone: step.treatment != .group, isSuspect: standing.isSuspect,
            deaths: standing.deaths)
        }
        for place in step.places {
          let number = waiting[place]
          if step.treatment == .alone || step.treatment == .group, culprits.contains(number) { break step }
        }
        for number in step.places.map({ waiting[$0] }) {
          marks[number] = nil
          if step.treatment == .bury { buried.insert(number) } else { settled.insert(number) }
        }
      }
      if crashes > 1000 { break }
    }
    #expect(buried == Set(culprits))
    let groups = Set(culprits.map { $0 / MarkPlan.maxGroup }).count
    let bound = 2 + groups + culprits.count
    for number in 0..<100 where !culprits.contains(number) { #expect(deliveries[number] <= bound) }
    #expect(crashes <= 1 + groups + 3 * culprits.count)
  }
}
