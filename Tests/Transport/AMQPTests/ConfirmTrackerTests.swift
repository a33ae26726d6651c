import Testing

@testable import CountersignAMQP

struct ConfirmTrackerTests {
  private func tracker(_ entries: String...) -> ConfirmTracker<String> {
    var tracker = ConfirmTracker<String>()
    for entry in entries { tracker.append(entry) }
    return tracker
  }

  private func settle(
    _ tracker: inout ConfirmTracker<String>, _ tag: UInt64, multiple: Bool
  ) -> (isKnown: Bool, settled: [String]) {
    var settled: [String] = []
    let isKnown = tracker.settle(tag, multiple: multiple) { entry, returned in
      settled.append(returned.map { "\(entry) \($0.code) \($0.text)" } ?? entry)
    }
    return (isKnown, settled)
  }

  private func markReturned(_ tracker: inout ConfirmTracker<String>, _ wanted: String) -> Bool {
    tracker.markReturned(code: 312, text: "NO_ROUTE") { $0 == wanted }
  }

  @Test func `Single and multiple confirms settle their tags`() {
    var tracker = tracker("a", "b", "c", "d")
    #expect(settle(&tracker, 2, multiple: false) == (true, ["b"]))
    #expect(tracker.count == 3)
    #expect(tracker.oldest == "a")
    #expect(settle(&tracker, 3, multiple: true) == (true, ["a", "c"]))
    #expect(tracker.oldest == "d")
    #expect(tracker.span == 1)
    tracker.append("e")
    #expect(settle(&tracker, 5, multiple: true) == (true, ["d", "e"]))
    #expect(tracker.isEmpty)
    #expect(tracker.oldest == nil)
  }

  @Test(
    arguments: [(0, false), (0, true), (3, false), (3, true), (1, false), (1, true)] as [(UInt64, Bool)])
  func `Tags that are not outstanding are noticed`(tag: UInt64, multiple: Bool) {
    var tracker = tracker("a", "b")
    #expect(settle(&tracker, 1, multiple: false) == (true, ["a"]))
    #expect(settle(&tracker, tag, multiple: multiple) == (false, []))
    #expect(tracker.count == 1)
  }

  @Test func `A tag inside the span is not settled twice`() {
    var tracker = tracker("a", "b", "c")
    #expect(settle(&tracker, 2, multiple: false).isKnown)
    #expect(!settle(&tracker, 2, multiple: false).isKnown)
  }

  @Test func `The span counts what is confirmed behind a gap`() {
    var tracker = tracker("a", "b", "c")
    _ = settle(&tracker, 2, multiple: false)
    _ = settle(&tracker, 3, multiple: false)
    #expect(tracker.count == 1)
    #expect(tracker.span == 3)
    _ = settle(&tracker, 1, multiple: false)
    #expect(tracker.span == 0)
  }

  @Test func `A return goes with the oldest that matches and has none`() {
    var tracker = tracker("x", "y", "x")
    #expect(markReturned(&tracker, "x") == true)
    #expect(settle(&tracker, 1, multiple: false) == (true, ["x 312 NO_ROUTE"]))
    #expect(markReturned(&tracker, "x") == true)
    #expect(markReturned(&tracker, "x") == false)
    #expect(markReturned(&tracker, "z") == false)
    #expect(settle(&tracker, 3, multiple: true) == (true, ["y", "x 312 NO_ROUTE"]))
  }

  @Test func `A reset gives what is open in order and counts anew`() {
    var tracker = tracker("a", "b", "c", "d")
    _ = settle(&tracker, 2, multiple: false)
    #expect(tracker.reset() == ["a", "c", "d"])
    #expect(tracker.isEmpty)
    tracker.append("e")
    #expect(settle(&tracker, 1, multiple: false) == (true, ["e"]))
  }
}
