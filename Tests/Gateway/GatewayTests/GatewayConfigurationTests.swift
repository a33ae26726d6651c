import CountersignCryptography
import FoundationEssentials
import Projects
import ServiceRuntime
import TestSupport
import Testing

@testable import Gateway

@Suite struct GatewayConfigurationTests {
  private let file = Repository.config + "/gateway.json5"

  private func withFiles<Result>(_ body: ([String: String]) throws -> Result) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "gateway-\(UInt64.random(in: 0...UInt64.max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let keys = try PrivateSealingKeys([PrivateSealingKey.generate(id: "a")])
    let (keysFile, password) = (folder.appending(path: "keys.json"), folder.appending(path: "password"))
    try Data(keys.publicSet.utf8).write(to: keysFile)
    try Data("secret".utf8).write(to: password)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: password.path)
    return try body([
      "COUNTERSIGN_BROKER_PASSWORD_FILE": password.path, "COUNTERSIGN_ACCOUNTS_KEYS_FILE": keysFile.path,
      "COUNTERSIGN_PROJECTS_DIRECTORY": Repository.config + "/projects",
    ])
  }

  private func load(_ changes: [String: String]) throws -> LoadedConfiguration<GatewayConfiguration> {
    try withFiles { environment in
      try GatewayConfiguration.load(file: file, environment: environment.merging(changes) { $1 })
    }
  }

  private func problem(_ changes: [String: String]) -> String {
    TestSupport.problem { try load(changes) }
  }

  @Test func `It is valid, and warns only that there is no project yet`() throws {
    let loaded = try load([:])
    #expect(loaded.warnings.count == 1 && loaded.warnings.allSatisfy { $0.text.contains("'countersign project add'") })
    #expect(loaded.content.listen.address.port == 9099)
    #expect(loaded.content.listen.connectionsPerClient == 7_168)
    #expect(!loaded.content.isDevelopment)
    #expect(loaded.content.proxies.ranges.count == 2)
  }

  @Test func `It has the defaults`() throws {
    try withFiles { environment in
      let shipped = try GatewayConfiguration.load(file: file, environment: environment).content
      let changes = environment.merging(["COUNTERSIGN_BROKER_URL": "amqp://gateway@localhost/"]) { $1 }
      let bare = try GatewayConfiguration.load(file: nil, environment: changes).content
      #expect(shipped.proxies == bare.proxies)
      #expect(shipped.listen.maxInFlight == bare.listen.maxInFlight)
      #expect(shipped.listen.connections == bare.listen.connections)
      #expect(shipped.listen.address.host == bare.listen.address.host)
      #expect(shipped.listen.address.port == bare.listen.address.port)
      #expect(shipped.common.http.port == bare.common.http.port)
    }
  }

  @Test func `It explains every key`() throws {
    let text = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
    let keys = try GatewayConfiguration.keys(file: file).map(\.path)
    let unexplained = keys.filter { !text.contains("\($0.split(separator: ".").last ?? ""):") }
    #expect(unexplained.isEmpty)
  }

  @Test func `Development needs loopback`() throws {
    #expect(problem(["COUNTERSIGN_DEVELOPMENT": "true"]).isEmpty)
    #expect(
      problem(["COUNTERSIGN_DEVELOPMENT": "true", "COUNTERSIGN_LISTEN_HOST": "0.0.0.0"]).contains("is not loopback"))
    #expect(problem(["COUNTERSIGN_SIMULATOR_URL": "http://127.0.0.1:1"]).contains("no use without development"))
  }

  @Test func `The wiring refuses it, too`() throws {
    let key = try PrivateSealingKey.generate(id: "a")
    let keys = try PublicSealingKeys(jwkSet: Array(PrivateSealingKeys([key]).publicSet.utf8))
    #expect(throws: StartError.self) {
      try GatewayServices.rules(
        isDevelopment: true, host: "0.0.0.0", keys: keys, sealer: nil, simulatorURL: nil, ProjectsSource(Projects([])))
    }
    #expect(throws: StartError.self) {
      try GatewayServices.rules(
        isDevelopment: false, host: "127.0.0.1", keys: nil, sealer: nil, simulatorURL: nil,
        ProjectsSource(Projects([])))
    }
  }

  @Test(arguments: ["0.0.0.0/0", "::/0", "10.0.0.1,0.0.0.0/1", "proxy", ""])
  func `Proxies that hold clients are refused`(proxies: String) {
    #expect(problem(["COUNTERSIGN_TRUSTED_PROXIES": proxies]).contains("trustedProxies.") == !proxies.isEmpty)
  }

  @Test func `Beyond loopback without a proxy there is a warning`() throws {
    let open = ["COUNTERSIGN_LISTEN_HOST": "0.0.0.0"]
    let loaded = try load(open)
    let places = loaded.warnings.map(\.place)
    #expect(places.count == 2 && places.contains { $0.hasSuffix(": trustedProxies") })
    #expect(loaded.content.listen.connectionsPerClient == 128)
    #expect(try load(open.merging(["COUNTERSIGN_TRUSTED_PROXIES": "10.0.0.7"]) { $1 }).warnings.count == 1)
  }

  @Test func `There are more connections than calls in flight, so that these are refused and need not wait to connect`()
    throws
  {
    let listen = try load([:]).content.listen
    #expect(listen.connections >= 2 * CallClass.allCases.count * listen.maxInFlight)
    let few = problem(["COUNTERSIGN_LISTEN_CONNECTIONS": "7167"])
    #expect(few.contains("must be at least 7168"))
    #expect(
      problem(["COUNTERSIGN_LISTEN_CONNECTIONS": "224", "COUNTERSIGN_LISTEN_REQUESTS_IN_FLIGHT": "16"]).isEmpty)
  }

  @Test func `Keys of accounts and ports are checked`() {
    #expect(problem(["COUNTERSIGN_ACCOUNTS_KEYS_FILE": "/nowhere"]).contains("accountsKeysFile"))
    #expect(problem(["COUNTERSIGN_ACCOUNTS_KEYS_FILE": file]).contains("no usable public keys"))
    #expect(problem(["COUNTERSIGN_LISTEN_PORT": "8086"]).contains("health and metrics"))
  }
}
