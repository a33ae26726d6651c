import CountersignCryptography
import FoundationEssentials
import Testing

@testable import CommandLine

@Suite("The doctor on accounts and gateway")
struct AccountsCheckTests {
  private static let projects = """
    { projects: { example: { number: 1, apiKeys: ['fake-api-key'], apps: {
      'com.example.app': { platform: 'ios', appID: '1:1:ios:01234567' },
      page: { platform: 'web', appID: '1:1:web:01234567' } } } } }
    """
  private static let coordinator = """
    { keysFile: 'keys', apps: { 'com.example.app': { verification: 'push' }, page: { verification: 'recaptcha' } } }
    """

  private static func ring(_ id: String, _ letter: String = "A") -> String {
    #"{"keys": [{"kty": "oct", "kid": "\#(id)", "alg": "A256GCM", "k": "\#(String(repeating: letter, count: 42))A"}]}"#
  }

  /// Findings about files that fit together but for some that take others' places.
  private func findings(_ other: [String: String] = [:]) throws -> [Finding] {
    let keys = try PrivateSealingKeys([try PrivateSealingKey.generate(id: "k-1")])
    let files = try [
      "projects.json5": Self.projects, "coordinator.json5": Self.coordinator, "keys": Self.ring("shared"),
      "accounts.json5": "{ keysFile: 'keys', sealingKeysFile: 'private.json' }", "private.json": keys.jwkSet(),
      "gateway.json5": "{ accountsKeysFile: 'public.json' }", "public.json": keys.publicSet,
    ].merging(other) { $1 }
    let directory = FileManager.default.temporaryDirectory.appending(path: "accounts-check-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }  // What is left over is in /tmp.
    for (name, text) in files { try Data(text.utf8).write(to: directory.appending(path: name)) }
    return AccountsCheck.findings(try ConfigurationFiles(directory: directory.path(percentEncoded: false)))
  }

  @Test("Files that fit together are right")
  func filesThatFitTogetherAreRight() throws {
    let found = try findings()
    #expect(found.count == 3 && found.allSatisfy { $0.status == .ok }, "\(found)")
  }

  @Test("Apps whose callers the coordinator trusts are not reached by HTTP, except in development")
  func trustedApps() throws {
    let trusted = Self.coordinator.replacing("'push'", with: "'trusted'")
    let found = try findings(["coordinator.json5": trusted]).filter { $0.status == .failed }
    #expect(found.count == 1 && found.first?.detail.contains("com.example.app is 'trusted'") == true, "\(found)")
    let development = trusted.replacing("{ keysFile", with: "{ development: true, keysFile")
    #expect(try findings(["coordinator.json5": development]).allSatisfy { $0.status == .ok })
  }

  @Test("The gateway's own key stands in the coordinator's file, with the same content")
  func theKeyOfTheGateway() throws {
    let gateway = "{ accountsKeysFile: 'public.json', keysFile: 'own' }"
    let known = try findings(["gateway.json5": gateway, "own": Self.ring("shared")])
    #expect(known.count == 4 && known.allSatisfy { $0.status == .ok }, "\(known)")
    for own in [Self.ring("other"), Self.ring("shared", "B")] {
      let found = try findings(["gateway.json5": gateway, "own": own]).filter { $0.status == .failed }
      #expect(found.count == 1 && found.first?.check == "sealing keys of gateway.json5", "\(found)")
    }
  }

  @Test("Apps that the coordinator does not have")
  func appsThatTheCoordinatorDoesNotHave() throws {
    let found = try findings(["coordinator.json5": "{ keysFile: 'keys', apps: {} }"]).filter { $0.status == .failed }
    #expect(found.map(\.detail.isEmpty) == [false, false] && found.allSatisfy { $0.detail.contains("has no app") })
  }

  @Test("Projects that are wrong, missing, or not the same for both")
  func projectsThatAreWrong() throws {
    let other = "{ keysFile: 'keys', sealingKeysFile: 'private.json', projectsFile: 'other.json5' }"
    for files in [
      ["projects.json5": "{ projects: { example: { number: 0 } } }"],
      ["gateway.json5": "{ accountsKeysFile: 'public.json', projectsFile: 'absent.json5' }"],
      [
        "accounts.json5": other,
        "other.json5": Self.projects.replacing("number: 1,", with: "number: 1, methods: { phone: true },"),
      ],
    ] {
      let found = try findings(files).filter { $0.status == .failed }
      #expect(found.map(\.check) == ["projects of gateway.json5"], "\(found)")
    }
    #expect(try findings(["accounts.json5": other, "other.json5": Self.projects]).allSatisfy { $0.status == .ok })
    let empty = try findings(["projects.json5": "{ projects: {} }"])
    #expect(empty.contains { $0.status == .note && $0.hint == "countersign project add" })
  }

  @Test("Keys that do not fit")
  func keysThatDoNotFit() throws {
    let stranger = try PrivateSealingKeys([try PrivateSealingKey.generate(id: "k-1")])
    for (files, check) in [
      (["public.json": stranger.publicSet], "accounts' keys of gateway.json5"),
      (["public.json": "{}"], "accounts' keys of gateway.json5"),
      (["private.json": "{}"], "accounts' keys of gateway.json5"),
      (
        [
          "other": Self.ring("shared", "B"),
          "accounts.json5": "{ keysFile: 'other', sealingKeysFile: 'private.json' }",
        ], "sealing keys of accounts.json5"
      ),
    ] {
      let found = try findings(files).filter { $0.status == .failed }
      #expect(found.map(\.check) == [check], "\(found)")
    }
    let absent = try findings(["accounts.json5": "{ keysFile: 'keys', sealingKeysFile: 'absent' }"])
    #expect(absent.contains { $0.status == .skipped })
  }

  @Test("Without accounts and gateway there is nothing to find")
  func withoutThemThereIsNothingToFind() throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "accounts-check-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }  // What is left over is in /tmp.
    try Data(Self.coordinator.utf8).write(to: directory.appending(path: "coordinator.json5"))
    let files = try ConfigurationFiles(directory: directory.path(percentEncoded: false))
    #expect(AccountsCheck.findings(files).isEmpty)
  }
}
