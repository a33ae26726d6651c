import CountersignTelemetry
import FoundationEssentials
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import CommandLine

@Suite struct StackEnvironmentTests {
  private func withStackFile<Result>(mode: Int, _ body: (String) async throws -> Result) async throws -> Result {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let line = "export COUNTERSIGN_OPERATOR_AMQP_URL=amqp://operator@evil.example\n"
    return try await body(directory.write(line, to: "stack.env", mode: mode))
  }

  @Test func `A file that the caller alone can write is taken`() async throws {
    try await withStackFile(mode: 0o600) { path in
      #expect(
        StackEnvironment.read(path) == .taken(["COUNTERSIGN_OPERATOR_AMQP_URL": "amqp://operator@evil.example"]))
    }
    #expect(StackEnvironment.read("/nonexistent/stack.env") == .absent)
  }

  @Test(arguments: [0o620, 0o602, 0o666])
  func `A file that others can write is left alone`(_ mode: Int) async throws {
    try await withStackFile(mode: mode) { path in
      guard case .ignored(let reason) = StackEnvironment.read(path) else {
        return #expect(Bool(false), "the file was not ignored")
      }
      #expect(reason.contains("chmod 600"))
    }
  }

  @Test func `A file of another user is left alone`() async throws {
    // Only root can give a file away; anybody else has files of root's at hand.
    guard geteuid() == 0 else {
      #expect(StackEnvironment.read("/etc/passwd") == .ignored("it belongs to another user"))
      return
    }
    try await withStackFile(mode: 0o600) { path in
      chown(path, 65_534, 65_534)
      #expect(StackEnvironment.read(path) == .ignored("it belongs to another user"))
    }
  }

  @Test func `Any variable that names an installation keeps the stack's file out`() {
    for name in ["COUNTERSIGN_AMQP_URL", "COUNTERSIGN_OPERATOR_AMQP_PASSWORD_FILE", "COUNTERSIGN_CONFIG_DIR"] {
      #expect(StackEnvironment.isNamed(by: [name: "x"]), "\(name)")
    }
    #expect(!StackEnvironment.isNamed(by: ["PATH": "/bin", "COUNTERSIGN_SKIP_PACKAGES": "1"]))
  }

  private func error(_ arguments: [String], environment: [String: String]) async throws -> String {
    let written = Mutex("")
    let streams = ProgramStreams(
      output: { text in written.withLock { $0 += text } }, error: { text in written.withLock { $0 += text } },
      input: { () throws(CommandLineError) in [] })
    let clock = ManualClock(UnixTime(milliseconds: 0))
    _ = await CountersignProgram(environment: environment, clock: clock, streams: streams).run(arguments)
    return written.withLock { $0 }
  }

  @Test func `The password of the operator never goes to another machine without TLS`() async throws {
    let url = "http://operator:hunter2@broker.example:15672"
    let said = try await error(["topology", "check", "--management", url], environment: [:])
    #expect(said.contains("use https://"))
    #expect(said.contains("allowPlaintext"))
    #expect(!said.contains("hunter2"))
  }

  @Test(arguments: ["management", "broker"])
  func `One host of a list on another machine is enough to refuse it`(option: String) async throws {
    let scheme = option == "broker" ? "amqp" : "http"
    let url = "\(scheme)://operator:hunter2@127.0.0.1:1,broker.example:2"
    let said = try await error(
      [option == "broker" ? "dead" : "topology", option == "broker" ? "list" : "check", "--\(option)", url],
      environment: [:])
    #expect(said.contains("use \(scheme)s://"))
    #expect(!said.contains("hunter2"))
  }

  @Test func `Neither does any password of the broker`() async throws {
    let environment = ["COUNTERSIGN_OPERATOR_AMQP_URL": "amqp://operator:hunter2@broker.example"]
    let said = try await error(["dead", "list"], environment: environment)
    #expect(said.contains("use amqps://, or set operator.amqp.allowPlaintext"))
    #expect(!said.contains("hunter2"))
  }
}

@Suite struct SystemdUnitTests {
  @Test func `The target starts every unit that is enabled, and names none`() throws {
    let directory = Repository.root + "/deploy/systemd"
    let target = try String(contentsOfFile: directory + "/countersign.target", encoding: .utf8)
    let units = try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".service") }
    #expect(units.count >= 5)
    #expect(!target.contains("Wants="))
    for unit in units {
      let lines = try String(contentsOfFile: "\(directory)/\(unit)", encoding: .utf8)
      #expect(lines.contains("\nWantedBy=multi-user.target countersign.target\n"), "\(unit)")
    }
  }

  @Test func `Every unit keeps its keys, its ports and its memory to itself`() throws {
    let directory = Repository.root + "/deploy/systemd"
    for unit in try FileManager.default.contentsOfDirectory(atPath: directory) where unit.hasSuffix(".service") {
      let lines = try String(contentsOfFile: "\(directory)/\(unit)", encoding: .utf8).split(separator: "\n").map(
        String.init)
      // The keys of the others would open codes.
      let (keys, variable) =
        if unit.hasPrefix("countersign-gateway") {
          ("gateway-keys.json", "KEYS_FILE")
        } else if unit.hasPrefix("countersign-webhook") {
          ("webhook-worker.keys.json", "WEBHOOK_KEYS_FILE")
        } else {
          ("keys.json", "KEYS_FILE")
        }
      for line in [
        "KeyringMode=private", "SocketBindDeny=any", "LimitCORE=0", "NoNewPrivileges=yes", "CapabilityBoundingSet=",
        "LoadCredential=keys.json:/etc/countersign/secrets/\(keys)",
        "Environment=COUNTERSIGN_\(variable)=%d/keys.json",
      ] {
        #expect(lines.contains(line), "\(unit): \(line)")
      }
    }
  }
}
