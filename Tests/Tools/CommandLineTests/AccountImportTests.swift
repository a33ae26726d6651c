import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import PasswordHashing
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import CommandLine

@Suite struct AccountImportTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func file(_ users: [String]) throws -> String {
    try directory.write(#"{"users": ["# + users.joined(separator: ",\n") + "]}\n", to: "users.json")
  }

  private static func ids(_ body: JSONValue) -> [String] {
    (body["batch"]?["users"]?.array ?? []).compactMap { $0["localID"]?.text }
  }

  private static let taken = JSONValue.object(["refused": .array([])])

  private func run(_ accounts: FakeAccounts, _ arguments: String...) async -> Run {
    await Run(
      FakeBackend(accounts: accounts), arguments: ["account", "import"] + arguments + ["--project", "example"])
  }

  @Test func `Every user comes in once, in batches of a hundred`() async throws {
    let file = try file((1...1_050).map { #"{"localId": "u\#($0)"}"# })
    let accounts = FakeAccounts { _, _ in .success(Self.taken) }
    let run = await run(accounts, file)
    #expect(run.code == .success && run.output == "1050 users are in\n", "\(run.error)")
    let batches = accounts.sent.withLock { $0.map { Self.ids($0.body) } }
    #expect(batches.count == 11 && batches.allSatisfy { $0.count <= 100 })
    #expect(batches.flatMap { $0 }.sorted() == (1...1_050).map { "u\($0)" }.sorted())
    #expect(!FileManager.default.fileExists(atPath: ImportState.path(of: file)))
  }

  @Test func `Rows that are refused are named by their line, and the others come in`() async throws {
    let file = try file([#"{"localId": "u1"}"#, #"{"email": "nobody"}"#, #"{"localId": "u3"}"#, #"{"localId": "u4"}"#])
    let accounts = FakeAccounts { _, _ in
      .success(.object(["refused": .array([.object(["index": .integer(1), "message": .text("EMAIL_EXISTS")])])]))
    }
    let run = await run(accounts, file)
    #expect(run.code == .failure && run.output == "2 users are in, 2 rows were refused\n")
    #expect(run.error.contains("line 2: localId is missing"), "\(run.error)")
    #expect(run.error.contains("line 3: EMAIL_EXISTS"), "\(run.error)")
  }

  @Test func `An import that was stopped goes on behind what is done`() async throws {
    let file = try file((1...500).map { #"{"localId": "u\#($0)"}"# })
    // All but the third batch are answered, and those before it are done for good.
    let stopped = FakeAccounts { _, body in
      Self.ids(body).first == "u201" ? .failure(CommandLineError(.notPermitted, "no")) : .success(Self.taken)
    }
    #expect(await run(stopped, file).code == .noPermission)
    let again = FakeAccounts { _, _ in .success(Self.taken) }
    let resumed = await run(again, file)
    #expect(resumed.code == .success && resumed.output == "500 users are in\n", "\(resumed.error)")
    let ids = again.sent.withLock { $0.flatMap { Self.ids($0.body) } }
    #expect(ids.contains("u201") && ids.contains("u500") && Set(ids).count == ids.count)
    let all = Set(ids).union(stopped.sent.withLock { $0.flatMap { Self.ids($0.body) } })
    #expect(all.count == 500)
  }

  @Test func `Users that are there stay as they are if asked for, and are counted`() async throws {
    let file = try file((1...3).map { #"{"localId": "u\#($0)"}"# })
    let accounts = FakeAccounts { _, body in
      let refusals = ["DUPLICATE_LOCAL_ID : another account has the ID", "EMAIL_EXISTS : taken"].enumerated().map {
        index, text in
        JSONValue.object(["index": .integer(Int64(index)), "message": .text(text)])
      }
      return .success(.object(["refused": .array(refusals)]))
    }
    let kept = await run(accounts, file, "--keep-existing")
    #expect(kept.code == .failure && kept.output == "1 user is in, 1 stayed as it was, 1 row was refused\n")
    #expect(!kept.error.contains("line 1") && kept.error.contains("line 2: EMAIL_EXISTS"), "\(kept.error)")
    // Without the option it is the refusal of a row.
    #expect(await run(accounts, file).output == "1 user is in, 2 rows were refused\n")
    #expect(accounts.sent.withLock { $0.map { $0.body["batch"]?["keepsExisting"] } } == [.bool(true), nil])
  }

  @Test func `A state of another file or project is not gone on with`() async throws {
    let file = try file([#"{"localId": "u1"}"#])
    let accounts = FakeAccounts { _, _ in .success(Self.taken) }
    try ImportState(of: file, project: "another-project", keepsExisting: false).write(beside: file)
    let refused = await run(accounts, file)
    #expect(refused.code == .badInput && refused.error.contains("--restart"))
    try ImportState(of: file, project: "example", keepsExisting: true).write(beside: file)
    #expect(await run(accounts, file).code == .badInput)
    #expect(await run(accounts, file, "--restart").code == .success)
  }

  @Test func `A batch is sent again while accounts is busy`() async throws {
    let file = try file([#"{"localId": "u1"}"#])
    let asked = Mutex(0)
    let accounts = FakeAccounts { _, _ in
      let busy = APIError(.internalError, "busy", retryAfter: 7, reason: "BUSY")
      asked.withLock { $0 += 1 }
      return asked.withLock { $0 } == 1 ? .failure(CommandLineError(busy)) : .success(Self.taken)
    }
    let pauses = Mutex<[Duration]>([])
    var order = AccountImport(accounts: accounts, project: "example", hash: nil, timeout: .seconds(1))
    order.pause = { pause in pauses.withLock { $0.append(pause) } }
    var batches = ImportBatches(try AccountFileReader(path: file, format: .json), hasHashParameters: false)
    var done = 0
    try await order.run(&batches) { batch, _ in done = batch.end }
    #expect(done == 1 && asked.withLock { $0 } == 2 && pauses.withLock { $0 } == [.seconds(7)])
  }

  @Test func `Patience ends`() async throws {
    let file = try file([#"{"localId": "u1"}"#])
    let accounts = FakeAccounts { _, _ in .failure(CommandLineError(.unavailable, "away")) }
    var order = AccountImport(accounts: accounts, project: "example", hash: nil, timeout: .seconds(1))
    order.pause = { _ in }
    var batches = ImportBatches(try AccountFileReader(path: file, format: .json), hasHashParameters: false)
    await #expect(throws: CommandLineError.self) { try await order.run(&batches) { _, _ in } }
    #expect(accounts.sent.withLock { $0.count } == 301)
  }

  @Test func `Hashes travel with what made them, and kinds are not mixed`() async throws {
    let own = try PasswordHash.make(Secret("correct horse"))
    let file = try file([
      #"{"localId": "u1", "passwordHash": "aGFzaA==", "salt": "c2FsdA=="}"#, #"{"localId": "u2"}"#,
      #"{"localId": "u3", "countersignHash": "\#(own.stored)"}"#,
    ])
    let accounts = FakeAccounts { _, _ in .success(Self.taken) }
    let run = await run(
      accounts, file, "--hash-algo", "scrypt", "--hash-key", "a2V5", "--salt-separator", "Bw==", "--rounds", "8",
      "--mem-cost", "14", "--hash-input-order", "PASSWORD_FIRST")
    #expect(run.code == .success, "\(run.error)")
    let batches = accounts.sent.withLock { $0.compactMap { $0.body["batch"] } }
    #expect(batches.count == 2)
    let given = try #require(batches.first { $0["users"]?.array.count == 2 }?["hash"]?.members)
    #expect(
      given == [
        "hashAlgorithm": "SCRYPT", "signerKey": "a2V5", "saltSeparator": "Bw==", "rounds": .integer(8),
        "memoryCost": .integer(14), "passwordHashOrder": "PASSWORD_AND_SALT",
      ])
    let stored = try #require(batches.first { $0["users"]?.array.count == 1 })
    #expect(stored["hash"]?["hashAlgorithm"] == "COUNTERSIGN")
    #expect(stored["users"]?.array.first?["passwordHash"]?.text == Base64.encode(Array(own.stored.utf8)))
  }

  @Test func `A hash of nobody knows which kind is refused`() async throws {
    let file = try file([#"{"localId": "u1", "passwordHash": "aGFzaA=="}"#])
    let accounts = FakeAccounts { _, _ in .success(Self.taken) }
    let refused = await run(accounts, file)
    #expect(refused.code == .failure && refused.error.contains("line 1: has a hash"), "\(refused.error)")
    #expect(await run(accounts, file, "--rounds", "8").code == .usage)
    #expect(await run(accounts, file, "--hash-algo", "MD5", "--hash-input-order", "both").code == .usage)
    #expect(await run(accounts, file, "--hash-algo", "ARGON2", "--argon2", "[]").code == .badInput)
    #expect(accounts.sent.withLock { $0.isEmpty })
  }

  @Test func `A batch fits into a message, whatever its users are like`() async throws {
    let name = String(repeating: #"é\u0001"#, count: 1_500)
    let file = try file((1...40).map { #"{"localId": "u\#($0)", "displayName": "\#(name)"}"# })
    let accounts = FakeAccounts { _, _ in .success(Self.taken) }
    let run = await run(accounts, file)
    #expect(run.code == .success && run.output == "40 users are in\n", "\(run.error)")
  }
}
