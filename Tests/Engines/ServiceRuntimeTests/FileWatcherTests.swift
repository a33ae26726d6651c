import CountersignTelemetry
import FoundationEssentials
import Synchronization
import TestSupport
import Testing

@testable import ServiceRuntime

@Suite struct FileWatcherTests {
  @Test func `A file that takes another's place by renaming is taken, once`() throws {
    try withTemporaryDirectory { directory in
      let paint = try Paint(in: directory, "red")
      #expect(paint.look() == .unchanged && paint.look() == .unchanged)
      try paint.replace("{ color: 'blue' }")
      #expect(paint.look() == .taken && paint.color == "blue")
      #expect(paint.look() == .unchanged && paint.look() == .unchanged)
      #expect(paint.counts == [1, 0] && paint.isCurrent && paint.errors.isEmpty)
      // The same content is not even read as a configuration.
      #expect(paint.applications == 2)
    }
  }

  @Test func `A change without a meaning is taken, too`() throws {
    try withTemporaryDirectory { directory in
      let paint = try Paint(in: directory, "red")
      paint.look()
      try paint.replace("{ color: 'red' } // as ever")
      #expect(paint.look() == .taken && paint.color == "red" && paint.counts == [1, 0])
    }
  }

  @Test func `A change between the start and the first look is taken`() throws {
    try withTemporaryDirectory { directory in
      let paint = try Paint(in: directory, "red")
      try paint.replace("{ color: 'blue' }")
      #expect(paint.look() == .taken && paint.color == "blue" && paint.counts == [1, 0])
    }
  }

  @Test(
    arguments: ["{ color: 'wrong' }", "{ color: 1 }", "{ hue: 'blue' }", "nonsense", ""])
  func `Wrong content changes nothing, and is logged and counted once`(content: String) throws {
    try withTemporaryDirectory { directory in
      let paint = try Paint(in: directory, "red")
      paint.look()
      try paint.replace(content)
      for _ in 0..<3 { #expect(paint.look() == .refused && paint.color == "red" && !paint.isCurrent) }
      #expect(paint.counts == [0, 1] && paint.errors == ["colors stay"])
      try paint.replace("{ color: 'blue' }")
      #expect(paint.look() == .taken && paint.color == "blue" && paint.isCurrent)
    }
  }

  @Test func `Each wrong content is logged; the right one again is no change`() throws {
    try withTemporaryDirectory { directory in
      let paint = try Paint(in: directory, "red")
      paint.look()
      for wrong in ["{ color: 'wrong' }", "{ color: 1 }", "{ color: 'wrong' }"] {
        try paint.replace(wrong)
        #expect(paint.look() == .refused)
      }
      #expect(paint.counts == [0, 3] && paint.errors.count == 3)
      try paint.replace("{ color: 'red' }")
      #expect(paint.look() == .unchanged && paint.isCurrent && paint.counts == [0, 3])
    }
  }

  @Test func `A file that is missing for a moment changes nothing`() throws {
    try withTemporaryDirectory { directory in
      let paint = try Paint(in: directory, "red")
      paint.look()
      try FileManager.default.removeItem(atPath: paint.path)
      #expect(paint.look() == .refused && paint.look() == .refused && paint.color == "red" && !paint.isCurrent)
      #expect(paint.counts == [0, 1] && paint.errors.count == 1)
      try paint.replace("{ color: 'red' }")
      #expect(paint.look() == .unchanged && paint.isCurrent)
    }
  }

  @Test func `A file above the limit is refused without being read as a configuration`() throws {
    try withTemporaryDirectory { directory in
      let paint = try Paint(in: directory, "red")
      paint.look()
      let content = "{ color: 'blue' }"
      let padding = String(repeating: " ", count: ConfigurationFile.maxBytes - content.utf8.count)
      try paint.replace(content + padding)
      #expect(paint.look() == .taken && paint.applications == 2)
      try paint.replace(content + padding + " ")
      #expect(paint.look() == .refused && paint.color == "blue" && paint.applications == 2)
    }
  }

  @Test func `A refused file is tried again, as the fault may lie in a file that it names`() throws {
    try withTemporaryDirectory { directory in
      let paint = try Paint(in: directory, "red")
      paint.look()
      paint.isDry = true
      try paint.replace("{ color: 'blue' }")
      #expect(paint.look() == .refused && paint.look() == .refused && paint.counts == [0, 1])
      paint.isDry = false
      #expect(paint.look() == .taken && paint.color == "blue" && paint.counts == [1, 1])
    }
  }

  @Test(.timeLimit(.minutes(10)))
  func `Once started it looks after each pause, until it is stopped`() async throws {
    let directory = FileManager.default.temporaryDirectory.path + "/watched-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }  // What is left over is in /tmp.
    let (pauses, pausing) = AsyncStream.makeStream(of: Duration.self)
    let (turns, nextTurn) = AsyncStream.makeStream(of: Void.self)
    let paint = try Paint(in: directory, "red") { pause in
      pausing.yield(pause)
      for await _ in turns { return }
      throw CancellationError()
    }
    try paint.replace("{ color: 'blue' }")
    let run = Task { await paint.watcher.run() }
    var begun = pauses.makeAsyncIterator()
    #expect(await begun.next() == FileWatcher.interval && paint.color == "red")
    nextTurn.yield()
    #expect(await begun.next() == FileWatcher.interval && paint.color == "blue")
    await paint.watcher.stop()
    await run.value
    #expect(paint.applications == 1)
  }
}

private final class Paint: Sendable {
  private struct Can: Configuration {
    let color: String

    init(_ section: ConfigurationSection) {
      color = section.string("color", "A color.")
      section.check("color", color != "wrong", "must be right")
    }
  }

  private final class State: Sendable {
    let color: Mutex<String>
    let applications = Mutex(0)
    let isDry = Mutex(false)

    init(_ color: String) { self.color = Mutex(color) }

    func apply(_ path: String) throws(ConfigurationError) -> Bool {
      applications.withLock { $0 += 1 }
      let new = try Can.load(file: path, environment: [:]).content.color
      guard !isDry.withLock({ $0 }) else { throw ConfigurationError([ConfigurationProblem("water", "is missing")]) }
      return color.withLock { color in
        defer { color = new }
        return color != new
      }
    }
  }

  let path: String
  let watcher: FileWatcher
  private let state: State
  private let sink = MemorySink()
  private let metrics = MetricsRegistry()

  init(
    in directory: String, _ color: String,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in throw CancellationError() }
  ) throws {
    let path = directory + "/paint.json5"
    let state = State(color)
    (self.path, self.state) = (path, state)
    watcher = FileWatcher(
      path, name: "paint", refusal: "colors stay", log: Logger(label: "test", sink: sink),
      metrics: (metrics.counter("reads", "Reads.", labels: ["outcome"]), metrics.gauge("current", "Current.")),
      sleep: sleep
    ) { () throws(ConfigurationError) in
      try state.apply(path)
    }
    try replace("{ color: '\(color)' }")
  }

  @discardableResult
  func look() -> FileWatcher.Outcome { watcher.look() }

  func replace(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: path), options: .atomic) }

  var color: String { state.color.withLock { $0 } }
  var applications: Int { state.applications.withLock { $0 } }
  /// While true, something beside the file is missing.
  var isDry: Bool {
    get { state.isDry.withLock { $0 } }
    set { state.isDry.withLock { $0 = newValue } }
  }
  var errors: [String] { sink.events.filter { $0.level == .error }.map(\.message) }
  var isCurrent: Bool { metrics.render().contains("\ncurrent 1\n") }
  var counts: [Int] {
    ["taken", "refused"].map { outcome in
      (0...9).first { metrics.render().contains("\nreads{outcome=\"\(outcome)\"} \($0)\n") } ?? -1
    }
  }
}
