import CountersignTelemetry
import FoundationEssentials
import ServiceRuntime
import Testing

@testable import Projects

@Suite struct ProjectsSourceTests {
  @Test func `They are taken from a file that changes, and stay when it is wrong`() throws {
    let file = try ProjectsDirectory()
    func configure(_ number: String) throws {
      try file.write("{ projects: { example: { number: \(number), apiKeys: ['fake-api-key'] } } }")
    }
    try configure("1")
    let source = ProjectsSource(try ProjectsFile.load(file.path).content)
    let metrics = MetricsRegistry()
    let watcher = FileWatcher.projects(
      file.path, source, log: Logger(label: "test", sink: MemorySink()), metrics: metrics)
    #expect(watcher.look() == .unchanged && watcher.look() == .unchanged)
    try configure("2")
    #expect(watcher.look() == .taken && watcher.look() == .unchanged)
    #expect(source.current["example"]?.number == 2)
    #expect(metrics.render().contains("countersign_projects_file_current 1"))
    for wrong in ["0", "nonsense"] {
      try configure(wrong)
      for _ in 0..<2 { #expect(watcher.look() == .refused) }
      #expect(source.current["example"]?.number == 2)
      #expect(metrics.render().contains("countersign_projects_file_current 0"))
    }
    try FileManager.default.removeItem(atPath: file.path)
    #expect(watcher.look() == .refused)
    #expect(source.current["example"]?.number == 2)
    // Each is counted once, however often it is tried.
    #expect(metrics.render().contains(#"countersign_projects_reads_total{outcome="refused"} 3"#))
    try configure("2")
    #expect(watcher.look() == .unchanged)
    #expect(metrics.render().contains("countersign_projects_file_current 1"))
    #expect(metrics.render().contains(#"countersign_projects_reads_total{outcome="taken"} 1"#))
  }

  @Test func `A file that changed before the first look is taken`() throws {
    let file = try ProjectsDirectory()
    try file.write("{ projects: { example: { number: 1, apiKeys: ['fake-api-key'] } } }")
    let source = ProjectsSource(Projects([]))
    let watcher = FileWatcher.projects(
      file.path, source, log: Logger(label: "test", sink: MemorySink()), metrics: MetricsRegistry())
    #expect(watcher.look() == .taken)
    #expect(source.current["example"] != nil)
  }
}
