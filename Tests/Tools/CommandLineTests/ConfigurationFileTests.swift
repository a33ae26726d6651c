import FoundationEssentials
import ServiceRuntime
import Synchronization
import Testing

@testable import CommandLine

@Suite struct ConfigurationFileTests {
  @Test func `The first file that nobody else can write, and word of the others`() throws {
    let directory = FileManager.default.temporaryDirectory.path + "/command-line-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }  // What is left over is in /tmp.
    let files = ["absent", "open", "own"].map { "\(directory)/\($0)" }
    for (file, mode) in zip(files.dropFirst(), [0o666, 0o644]) {
      try Data("{}".utf8).write(to: URL(filePath: file))
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    }
    let said = Mutex("")
    let streams = ProgramStreams(
      output: { _ in }, error: { text in said.withLock { $0 += text } },
      input: { () throws(CommandLineError) in [] })
    #expect(CountersignProgram.foundFile(streams, among: files) == files[2])
    #expect(
      said.withLock { $0 } == "countersign: \(files[1]) is ignored: another user can write it; name it with --config\n")
    #expect(CountersignProgram.foundFile(streams, among: [files[0]]) == nil)
    #expect(CountersignProgram.defaultFiles == ["Config/countersign.json5", "/etc/countersign/countersign.json5"])
  }

  @Test func `Several coordinators, in either key`() throws {
    for name in ["COUNTERSIGN_COORDINATOR_URL", "COUNTERSIGN_COORDINATOR_URLS"] {
      let loaded = try OperatorConfiguration.load(file: nil, environment: [name: "http://a:1,http://b:2"])
      #expect(loaded.content.coordinatorURLs == ["http://a:1", "http://b:2"])
    }
  }
}
