import FoundationEssentials
import JobEngine
import ServiceRuntime
import TestSupport
import Testing

@testable import Revocation

@Suite struct RevocationWorkerConfigurationTests {
  private static let keys =
    #"{"keys":[{"kty":"oct","kid":"k","alg":"A256GCM","k":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}]}"#

  private func directory(_ configuration: String) throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory()
    try directory.link("providers", to: Samples.configDirectory + "/providers")
    for (name, text) in [
      "key.p8": Samples.keyFile, "bad.p8": "no key", "keys.json": Self.keys, "worker.json5": configuration,
    ] { try directory.write(text, to: name) }
    return directory
  }

  private static let lane =
    #"name: "app", clientID: "com.example.app", teamID: "EXAMPLE001", keyID: "SIWAKEY001", keyFile: "key.p8""#

  private func load(_ lanes: String, _ rest: String = #"keysFile: "keys.json""#) throws
    -> LoadedConfiguration<RevocationWorkerConfiguration>
  {
    let directory = try self.directory(#"{broker: {url: "amqp://u:p@127.0.0.1/"}, lanes: \#(lanes), \#(rest)}"#)
    return try RevocationWorkerConfiguration.load(file: directory.path + "/worker.json5", environment: [:])
  }

  private func problems(_ lanes: String, _ rest: String = #"keysFile: "keys.json""#) throws -> String {
    problem { try load(lanes, rest) }
  }

  @Test func `Values that are absent have defaults`() throws {
    let loaded = try load("[{\(Self.lane)}]")
    #expect(loaded.warnings.isEmpty, "\(loaded.warnings)")
    let configuration = loaded.content
    #expect(configuration.persistence == .seconds(24 * 3600))
    #expect(configuration.worker.ledger.path.hasSuffix("/revocation-ledger.sqlite"))
    let lane = try #require(configuration.lanes.first)
    #expect(lane.lane == LaneConfiguration(name: "app"))
    let provider = try #require(lane.provider)
    #expect(provider.clients == [RevocationClient(app: "com.example.app", clientID: "com.example.app")])
    #expect(provider.baseURL == "https://appleid.apple.com")
    let revoker = try TokenRevoker(configuration)
    #expect(revoker.lanes.map(\.name) == ["app"])
  }

  @Test(
    arguments: [
      ("[]", "lanes: is empty"), (#"[{name: "x"}]"#, "lanes.0.keyFile: is required"),
      ("[{\(lane)}, {\(lane)}]", "lanes.1.name: is the name of lanes.0 too: give each lane its own"),
      (
        "[{\(lane)}, {\(lane.replacing("\"app\"", with: "\"b\""))}]",
        "lanes.1.apps: has an app that another lane serves"
      ),
      ("[{\(lane), type: \"none\"}]", "lanes.0.type: must be one of apple"),
      ("[{\(lane.replacing("key.p8", with: "bad.p8"))}]", "lanes.0.keyFile: holds no usable key"),
      ("[{\(lane.replacing("SIWAKEY001", with: "SIWA"))}]", "lanes.0.keyID: must be 10 letters and digits"),
      ("[{\(lane.replacing("com.example.app", with: "a\\\"b"))}]", "lanes.0.clientID: must be letters"),
    ])
  func `Mistakes are named`(lanes: String, problem: String) throws {
    #expect(try problems(lanes).contains(problem))
  }

  @Test func `Without keys nothing can be sealed`() throws {
    #expect(try problems("[{\(Self.lane)}]", "prefetch: 512").contains("keysFile: is missing: the token"))
  }

  @Test func `Without a ledger a token can be lost`() throws {
    let warnings = try load("[{\(Self.lane)}]", #"keysFile: "keys.json", ledger: {type: "none"}"#).warnings
    #expect(warnings.contains { $0.description.contains("loses the token") })
  }

  @Test func `The shipped file is valid once the secrets are there`()
    throws
  {
    let directory = try self.directory("{}")
    let loaded = try RevocationWorkerConfiguration.load(
      file: Samples.configDirectory + "/revocation-worker.json5",
      environment: [
        "COUNTERSIGN_BROKER_PASSWORD_FILE": try directory.write("sesame", to: "password"),
        "COUNTERSIGN_KEYS_FILE": directory.path + "/keys.json",
        "COUNTERSIGN_LANES_0_KEY_FILE": directory.path + "/key.p8",
      ])
    #expect(try TokenRevoker(loaded.content).lanes.map(\.name) == ["example-app"])
  }

  @Test func `The shipped file explains every key`() throws {
    let file = Samples.configDirectory + "/revocation-worker.json5"
    let text = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
    let unexplained = try RevocationWorkerConfiguration.keys(file: file).map(\.path).filter { key in
      !text.contains("\(key.split(separator: ".").last ?? ""):")
    }
    #expect(unexplained.isEmpty)
  }
}
