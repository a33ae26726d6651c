import CountersignTelemetry
import Testing

/// Gives numbers one after the other, so that a test knows what comes out.
struct CountingGenerator: RandomNumberGenerator {
  var last: UInt64 = 0

  mutating func next() -> UInt64 {
    last += 1
    return last
  }
}

@Suite struct TraceContextTests {
  static let example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  @Test func `A trace parent is read and written unchanged`() throws {
    let context = try #require(TraceContext(traceparent: Self.example))
    #expect(context.traceID == "4bf92f3577b34da6a3ce929d0e0e4736")
    #expect(context.parentID == "00f067aa0ba902b7")
    #expect(context.isSampled)
    #expect(context.traceparent == Self.example)
  }

  @Test func `A child keeps the trace`() throws {
    let context = try #require(TraceContext(traceparent: Self.example))
    var generator = CountingGenerator()
    let child = context.child(using: &generator)
    #expect(child.traceID == context.traceID)
    #expect(child.parentID != context.parentID)
    #expect(child.isSampled)
  }

  @Test func `A new root is a valid context`() {
    let root = TraceContext.root()
    #expect(TraceContext(traceparent: root.traceparent) == root)
    #expect(TraceContext.root() != root)
  }

  @Test(
    arguments: [
      "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
      "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
      "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
      "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
    ])
  func `Malformed trace parents are refused`(text: String) {
    #expect(TraceContext(traceparent: text) == nil)
  }

  @Test func `Later versions are read as version zero`() {
    let later = "cc" + Self.example.dropFirst(2) + "-what-the-future-holds"
    #expect(TraceContext(traceparent: String(later))?.traceparent == Self.example)
  }
}
