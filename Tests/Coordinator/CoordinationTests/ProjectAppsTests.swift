import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import Projects
import ServiceRuntime
import TestSupport
import Testing

@testable import Coordination

@Suite final class ProjectAppsTests {
  private typealias Directory = ConfigurationDirectory<[String: AppProfile]>

  private let url = FileManager.default.temporaryDirectory.appending(path: "apps-\(UUID().uuidString)")
  private var path: String { url.path(percentEncoded: false) }

  init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(at: url) }  // What is left over is in /tmp.

  private func write(_ id: String, _ apps: String) throws {
    let text = "{ number: 1, methods: { phone: true }, apps: { \(apps) } }"
    try Data(text.utf8).write(to: url.appending(path: "\(id).json5"))
  }

  private static func codes(_ keys: String) -> String { "{ platform: 'ios', codes: { name: 'A', \(keys) } }" }

  @Test func `Codes of the apps are read, and the rest is passed over`() throws {
    try write("example", "a: \(Self.codes("verification: 'push', languageCode: 'de'")), b: { platform: 'web' }")
    let reading = Directory.apps(path, besides: ["c"], of: "own").load()
    #expect(reading.problems.isEmpty && reading.contents["example"]?.keys.sorted() == ["a"])
    #expect(reading.contents["example"]?["a"]?.languageCode == "de")
    try write("example", "a: \(Self.codes("verification: 'pushed', languages: 'de'"))")
    let problems = Directory.apps(path, besides: ["c"], of: "own").load().problems.map(\.description)
    #expect(problems.contains { $0.contains("example.json5: apps.a.codes.verification: must be") })
    #expect(problems.contains { $0.contains("apps.a.codes.languages: unknown key") })
  }

  @Test func `An app in both places is an error that names both`() throws {
    try write("example", "a: \(Self.codes("verification: 'push'"))")
    let problem = try #require(Directory.apps(path, besides: ["a"], of: "coordinator.json5").load().problems.first)
    #expect(problem.description.contains("example.json5: apps.a.codes: is that of coordinator.json5: apps.a as well"))
    let own = "apps: { a: { name: 'A', verification: 'push' } }"
    for (directory, keys, part) in [
      (path, own, "apps.a as well"), (path + "/absent", "", "is no directory"),
      (path, "projectsFile: 'p'", "is projectsDirectory now"),
    ] {
      let text = "{ projectsDirectory: '\(directory)', \(keys) }"
      let file = url.appending(path: ".coordinator.json5")
      try Data(text.utf8).write(to: file)
      let error = #expect(throws: ConfigurationError.self) {
        try CoordinatorConfiguration.load(file: file.path(percentEncoded: false), environment: [:])
      }
      #expect(error?.description.contains(part) == true, "\(part): \(String(describing: error))")
    }
  }

  @Test func `Codes are sent for an app as soon as its project has it`() async throws {
    let apps = LiveValue(ProjectApps([:]))
    try await Bench.with(Bench.rules { $0.projectApps = apps }) { bench in
      let start = StartVerification(phoneNumber: Bench.fictional, app: "new")
      #expect(try await bench.error(start).code == .invalidArgument)
      let context = ServiceContext(
        name: "coordinator", instance: "coordinator", logger: Logger(label: "test", sink: MemorySink()))
      let watcher = FileWatcher.projects(
        Directory.apps(path, besides: bench.rules.apps.keys, of: "own"), context,
        previous: { apps.current.byProject }, take: { apps.take(ProjectApps($0)) })
      let fictional = "fictionalNumbers: { '\(Bench.fictional)': '271828' }"
      try write("example", "new: \(Self.codes("verification: 'push', \(fictional)"))")
      #expect(watcher.look() == .taken)
      let started = try VerificationStarted(json: try await bench.ask(start).body)
      #expect(started.testNumber)
      #expect(try await bench.check(started.verificationID, "271828").type == "verification.approved.v1")
      // A wrong file leaves the app as it was.
      try write("example", "new: \(Self.codes("verification: 'none'"))")
      #expect(watcher.look() == .refused && bench.rules.profile("new")?.verification == .push)
    }
  }
}
