import CountersignCryptography
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import TestSupport
import Testing

@testable import ServiceRuntime

#if canImport(Glibc)
  import Glibc
#endif

@Suite struct RuntimeTests {
  private let registry: RuntimeRegistry = {
    let registry = RuntimeRegistry()
    registry.add { report in
      report.instance = "w@h/1"
      report.keys.opens = ["k1"]
      report.guarded?.settings["keysFile"] = "/secret/place"
      report.guarded?.checkValues = [CheckValue(file: "keysFile", id: "k1", code: [0x12, 0x34], isUsed: true)]
    }
    registry.add { $0.queues += ["b", "a"] }
    return registry
  }()

  @Test func `The health port tells IDs, and neither paths nor check values`() async throws {
    let configuration = CommonConfiguration.HTTPConfiguration(host: "127.0.0.1", port: 0)
    let service = try HealthService(
      configuration, health: HealthRegistry(), runtime: registry, metrics: MetricsRegistry(),
      clock: ManualClock(UnixTime(milliseconds: 77)))
    let client = try HTTPClient()
    let answer = try await client.send(
      HTTPRequest(
        method: "GET", url: "http://127.0.0.1:\(service.port)/runtime", timeouts: .patient))
    await client.shutdown()
    await service.stop()
    await service.run()
    let report = try #require(RuntimeReport.read(answer.body))
    #expect(report.keys.opens == ["k1"])
    #expect(report.queues == ["a", "b"])
    #expect(report.now == 77)
    #expect(report.guarded == nil)
    let text = String(decoding: answer.body, as: UTF8.self)
    #expect(!text.contains("/secret/place") && !text.contains("1234"))
  }

  @Test func `The socket tells the rest to its own user alone, and replaces what a killed process has left`()
    async throws
  {
    let directory = FileManager.default.temporaryDirectory.path + "/countersign-tests-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }  // What is left over is in /tmp.
    let path = directory + "/w-1.socket"
    for _ in 0..<2 {
      let socket = try RuntimeSocket(path: path) { [registry] in
        // Without a document the test fails below.
        (try? registry.report(clock: SystemClock(), isGuarded: true).json()) ?? []
      }
      var status = stat()
      #expect(stat(path, &status) == 0)
      #expect(status.st_mode & 0o777 == 0o600)
      let report = await RuntimeReport.ask(socket: path)
      #expect(report?.guarded?.settings == ["keysFile": "/secret/place"])
      // A crash leaves the file.
      withExtendedLifetime(socket) {}
    }
    let last = try RuntimeSocket(path: path) { Array("no report".utf8) }
    #expect(await RuntimeReport.ask(socket: path) == nil)
    last.stop()
    #expect(access(path, F_OK) != 0)
    #expect(await RuntimeReport.ask(socket: path) == nil)
    #expect(throws: StartError.self) { try RuntimeSocket(path: directory + String(repeating: "x", count: 120)) { [] } }
    #expect(throws: StartError.self) { try RuntimeSocket(path: "/nowhere/at/all.socket") { [] } }
  }

  @Test func `Check values tell keys apart, whatever they are called`() throws {
    func check(_ id: String, _ byte: UInt8) throws -> CheckValue? {
      let ring = try KeyRing(sealing: SymmetricKey(id: id, bytes: [UInt8](repeating: byte, count: 32)))
      return CheckValue.all(ring, file: "keysFile").first
    }
    let first = try #require(try check("a", 1))
    #expect(first.id == "a" && first.value.utf8.count == 32)
    #expect(try check("a", 2)?.value != first.value)
    #expect(try check("b", 1)?.value == first.value)
  }

  @Test func `A configuration keeps paths, hosts of providers, names and words, and nothing else`() throws {
    let text = """
      { name: "n", secretText: "s3cret", url: "https://u.example/Accounts/AC1?x=1",
        baseURL: "https://one.example:81/path/AC1", file: "data.sqlite", word: "json", http: { socketDirectory: "run" },
        broker: { url: "amqp://user:password@localhost" } }
      """
    try withTemporaryDirectory { directory in
      try write(text, to: directory + "/c.json5")
      let loaded = try Sample.load(
        file: directory + "/c.json5", environment: ["COUNTERSIGN_FILE": "/unit/data.sqlite"])
      #expect(
        loaded.settings == [
          "name": "n", "baseURL": "https://one.example:81", "file": "/unit/data.sqlite", "word": "json",
          "http.socketDirectory": directory + "/run",
        ])
    }
  }

  private struct Sample: ProcessConfiguration {
    enum Format: String, CaseIterable { case json, text }

    let common: CommonConfiguration

    init(_ section: ConfigurationSection) {
      common = CommonConfiguration(section, defaultHTTPPort: 8080)
      for key in ["name", "secretText", "url", "baseURL"] { _ = section.string(key, "A text.") }
      _ = section.path("file", default: "other", "A path.")
      _ = section.word("word", default: Format.text, "A word.")
    }
  }
}
