import CountersignCryptography
import CountersignEncoding
import FoundationEssentials
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import CommandLine

@Suite struct ServiceAccountCommandTests {
  private static let listed = JSONValue.object([
    "accounts": .array([
      .object([
        "email": .text("backend@example.iam.gserviceaccount.com"), "roles": .array([.text("users.read")]),
        "keyIDs": .array([.text("k1")]), "disabled": .bool(false), "createdAt": .text("2026-07-01T12:00:00Z"),
      ])
    ])
  ])

  private func sent(_ backend: FakeBackend) throws -> JSONValue {
    let text = try #require(backend.sent.withLock { $0.last })
    let start = try #require(text.firstIndex(of: "{"))
    let end = try #require(text.lastIndex(of: "}"))
    return try JSONReader.commandLine.value(of: text[start...end].utf8)
  }

  @Test func `A new service account has the public part of the key in its file`() async throws {
    try await withTemporaryDirectory { directory in
      let backend = FakeBackend(reply: .success(Self.listed))
      let file = "\(directory)/key.json"
      let run = await Run(
        backend, "service-account", "add", "backend", "--project", "example", "--roles", "users.read,users.write",
        "--key-file", file, "--token-uri", "http://127.0.0.1:5716/token")
      #expect(run.code == .success, "\(run.error)")
      let bytes = try [UInt8](Data(contentsOf: URL(filePath: file)))
      let key = try JSONReader.commandLine.value(of: bytes)
      let command = try sent(backend)
      #expect(command["act"] == "create" && command["name"] == "backend" && command["project"] == "example")
      #expect(command["roles"] == .texts(["users.read", "users.write"]))
      #expect(key["type"] == "service_account" && key["project_id"] == "example")
      #expect(key["client_email"] == "backend@example.iam.gserviceaccount.com")
      #expect(key["token_uri"] == "http://127.0.0.1:5716/token" && key["private_key_id"] == command["keyID"])
      let pem = try #require(key["private_key"]?.text)
      #expect(pem.hasPrefix("-----BEGIN PRIVATE KEY-----\n") && pem.hasSuffix("-----END PRIVATE KEY-----\n"))
      let signer = try SigningKey(file: Array(pem.utf8))
      let verifier = try VerifyingKey(file: Array(try #require(command["publicKey"]?.text).utf8))
      #expect(signer.verifying.rsaComponents?.n == verifier.rsaComponents?.n && signer.algorithm == .rs256)
      #expect(!run.output.contains("PRIVATE"))
      let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
      #expect(mode == 0o600)
    }
  }

  @Test func `A file that exists stays, and nothing is sent`() async throws {
    let directory = try TemporaryDirectory()
    let file = try directory.write("mine", to: "key.json")
    let backend = FakeBackend(reply: .success(Self.listed))
    let run = await Run(
      backend, "service-account", "key", "add", "backend", "--project", "example", "--key-file", file)
    #expect(run.code == .badInput && run.error.contains("exists already"))
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
    #expect(backend.sent.withLock { $0.isEmpty })
  }

  @Test(arguments: [
    (CommandLineError(.refused, "no"), false), (CommandLineError(.unavailable, "no answer"), true),
  ])
  func `The file of a refused key goes, and stays without an answer`(error: CommandLineError, stays: Bool) async throws
  {
    try await withTemporaryDirectory { directory in
      let file = "\(directory)/key.json"
      let run = await Run(
        FakeBackend(reply: .failure(error)), "service-account", "add", "backend", "--project", "example", "--key-file",
        file)
      #expect(run.code == error.exitCode)
      #expect(FileManager.default.fileExists(atPath: file) == stays)
      #expect(run.error.contains("stays") == stays)
    }
  }

  @Test(arguments: [
    (["roles", "backend", "--roles", "tokens"], #""act":"setRoles""#), (["disable", "backend"], #""act":"disable""#),
    (["enable", "backend"], #""act":"enable""#), (["delete", "backend"], #""act":"delete""#),
    (["key", "remove", "backend", "k1"], #""keyID":"k1""#), (["list"], #"{"project":"example"}"#),
  ])
  func `Commands go to accounts as the operator`(arguments: [String], part: String) async {
    let backend = FakeBackend(reply: .success(Self.listed))
    let run = await Run(backend, arguments: ["service-account"] + arguments + ["--project", "example"])
    #expect(run.code == .success, "\(run.error)")
    let sent = backend.sent.withLock { $0.joined() }
    #expect(sent.contains("as operator") && sent.contains(part), "\(sent)")
    #expect(run.output.contains("backend@example.iam.gserviceaccount.com  users.read  k1    enabled"))
  }

  @Test(arguments: [
    ["list"], ["add", "--project", "example"], ["roles", "backend", "--roles", "root", "--project", "example"],
    ["key", "remove", "backend", "--project", "example"],
  ])
  func `Wrong arguments are said so`(arguments: [String]) async {
    let backend = FakeBackend()
    #expect(await Run(backend, arguments: ["service-account"] + arguments).code == .usage)
    #expect(backend.sent.withLock { $0.isEmpty })
  }
}
