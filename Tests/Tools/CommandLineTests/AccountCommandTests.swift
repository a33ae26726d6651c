import CountersignCryptography
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

@Suite struct AccountCommandTests {
  static func account(_ id: String) -> JSONValue {
    .object([
      "localID": .text(id), "email": .text("\(id)@example.com"), "emailVerified": .bool(true), "disabled": .bool(false),
      "passwordChangedAt": .text("2026-07-01T12:00:00Z"), "createdAt": .text("2026-07-01T12:00:00Z"),
      "lastLoginAt": .text("2026-07-01T12:00:00Z"), "validSince": .text("2026-07-01T12:00:00Z"),
      "customAttributes": .text(#"{"role":"editor"}"#),
    ])
  }

  private func backend() -> FakeBackend {
    FakeBackend(
      reply: .success(["refused": [["index": 0, "message": "not disabled"]]]),
      accounts: FakeAccounts { type, body in
        switch type {
        case "account.find":
          let ids = body["selection"]?["localIDs"]?.array ?? []
          return .success(.object(["accounts": .array(ids == ["none"] ? [] : [Self.account("u1")])]))
        default: return .success(.object(["account": Self.account("u1")]))
        }
      })
  }

  private func run(_ backend: FakeBackend, _ arguments: String...) async -> Run {
    await Run(backend, arguments: ["account"] + arguments + ["--project", "example"])
  }

  @Test func `Users are found by everything that names them`() async throws {
    let backend = backend()
    let found = await run(
      backend, "find", "--email", "a@example.com", "--phone", "+14155550123", "--id", "u1", "--identity",
      "apple.com:001:x")
    #expect(found.code == .success, "\(found.error)")
    #expect(found.output.contains("u1   u1@example.com         password   enabled"))
    let sent = try #require(backend.accounts.sent.withLock { $0.last })
    let selection = try #require(sent.body["selection"])
    #expect(sent.type == "account.find" && sent.body["bearer"] == nil)
    #expect(selection["emails"] == .texts(["a@example.com"]) && selection["phoneNumbers"] == .texts(["+14155550123"]))
    #expect(
      selection["identities"]?.array == [.object(["providerID": .text("apple.com"), "subject": .text("001:x")])])
    #expect(await run(backend, "find", "--id", "none").code == .failure)
    #expect(await run(backend, "find").code == .usage)
    #expect(await run(backend, "show", "none").error.contains("USER_NOT_FOUND"))
    #expect(await run(backend, "show", "u1").output.contains("email         u1@example.com (verified)"))
  }

  /// A user with a number and a TOTP factor.
  private static func guarded(_ id: String) -> JSONValue {
    var members = account(id).members ?? [:]
    let enrolled: [String: JSONValue] = ["enrolledAt": "2026-07-01T12:00:00Z"]
    members["secondFactors"] = .array([
      .object(
        enrolled.merging(["enrollmentID": "e-1", "kind": "phone", "phoneNumber": "+14155550123", "displayName": "Work"])
        { $1 }),
      .object(enrolled.merging(["enrollmentID": "e-2", "kind": "totp"]) { $1 }),
    ])
    return .object(members)
  }

  @Test func `Second factors are shown, their numbers not wholly`() async {
    let accounts = FakeAccounts { _, _ in .success(["accounts": .array([Self.guarded("u1")])]) }
    let shown = await run(FakeBackend(accounts: accounts), "show", "u1")
    #expect(shown.output.contains("second factor phone  +1415•••••23  Work  e-1  since 2026-07-01T12:00:00Z"))
    #expect(shown.output.contains("second factor totp  e-2  since 2026-07-01T12:00:00Z"))
  }

  @Test func `What a file does not have of second factors is said, with its number`() async throws {
    let accounts = FakeAccounts { type, _ in
      type == "account.import"
        ? .success(["refused": [["index": 0, "message": "x"]]]) : .success(["accounts": .array([Self.guarded("u1")])])
    }
    try await withTemporaryDirectory { directory in
      for (format, note) in [
        ("json", "note: second factors whose secrets are not in the file: 1. "),
        ("csv", "note: second factors that are left out: 2. "),
      ] {
        let exported = await run(
          FakeBackend(accounts: accounts), "export", "\(directory)/users.\(format)", "--without-hashes")
        #expect(exported.error.contains(note) && exported.code == .success)
      }
      let row = #"{"localId":"a","mfaInfo":[{"mfaEnrollmentId":"e","totpInfo":{}},{"phoneInfo":"+14155550123"}]}"#
      let file = "\(directory)/in.json"
      try Data("{\"users\":[\(row),\n\(row)]}".utf8).write(to: URL(filePath: file))
      // The first row was refused.
      let imported = await run(FakeBackend(accounts: accounts), "import", file)
      #expect(imported.output.hasPrefix("1 user is in, 1 row was refused"))
      #expect(imported.error.contains("note: second factors whose secrets are not in the file: 1. "))
    }
  }

  @Test func `Changes name one field each`() async throws {
    let backend = backend()
    let expected: [([String], [String: JSONValue])] = [
      (["disable", "u1"], ["disabled": .bool(true)]), (["enable", "u1"], ["disabled": .bool(false)]),
      (["sign-out", "u1"], ["validSince": .text("2026-07-01T12:00:00Z")]),
      (["claims", "u1", #"{"role":"admin"}"#], ["customAttributes": .text(#"{"role":"admin"}"#)]),
    ]
    for (arguments, fields) in expected {
      let run = await Run(backend, arguments: ["account"] + arguments + ["--project", "example"])
      #expect(run.code == .success, "\(run.error)")
      let sent = try #require(backend.accounts.sent.withLock { $0.last })
      #expect(sent.type == "account.change")
      #expect(sent.body["user"]?.members == fields.merging(["localID": .text("u1")]) { $1 })
    }
    #expect(await run(backend, "claims", "u1").output == #"{"role":"editor"}"# + "\n")
    #expect(await run(backend, "claims", "u1", "[1]").code == .badInput)
  }

  @Test func `A user that is not disabled is deleted by force only`() async {
    let backend = backend()
    let refused = await run(backend, "delete", "u1")
    #expect(refused.code == .failure && refused.output.contains("u1 stays: not disabled"))
    #expect(backend.sent.withLock { $0.joined() }.contains(#""force":false"#))
    _ = await run(backend, "delete", "u1", "--force")
    #expect(backend.sent.withLock { $0.joined() }.contains(#""force":true"#))
  }

  @Test func `An export has every page, and the hashes that are sealed for it`() async throws {
    let hash = try PasswordHash.make(Secret("correct horse"))
    let accounts = FakeAccounts { _, body in
      let isSecond = body["after"] != nil
      var page: [String: JSONValue] = ["accounts": .array([Self.account(isSecond ? "u2" : "u1")])]
      if !isSecond { page["next"] = .text("n1") }
      guard let jwk = body["replyKey"]?.text, let id = body["id"]?.text else { return .success(.object(page)) }
      do {
        let text = try PasswordHashes(entries: [.init(localID: "u2", stored: hash.stored)]).text()
        let context = SealContext(
          messageType: AccountsFound.type, messageID: id, recipient: AccountCommandFields.replyRecipient)
        let field = try PublicSealer(key: PublicSealingKey(jwk: Array(jwk.utf8))).seal(text, for: context)
        page["hashes"] = JSONValue(encoding: field)
      } catch {
        return .failure(CommandLineError(.internalError, "\(error)"))
      }
      return .success(.object(page))
    }
    try await withTemporaryDirectory { directory in
      let file = "\(directory)/users.json"
      let exported = await run(FakeBackend(accounts: accounts), "export", file)
      #expect(exported.code == .success && exported.output == "2 users are in \(file)\n", "\(exported.error)")
      let users = try JSONReader.commandLine.value(of: [UInt8](Data(contentsOf: URL(filePath: file))))["users"]
      #expect(users?.array.map { $0["localId"] } == ["u1", "u2"])
      #expect(users?.array.map { $0["countersignHash"]?.text } == [nil, hash.stored])
      let plain = await run(FakeBackend(accounts: accounts), "export", file, "--without-hashes")
      #expect(plain.code == .success)
      #expect(try !String(contentsOfFile: file, encoding: .utf8).contains("Hash"))
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["users.json"])
      #expect(await run(FakeBackend(), "export", "\(directory)/users.txt").code == .usage)
      #expect(await run(FakeBackend(), "export", "\(directory)/other.csv").code == .unavailable)
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["users.json"])
    }
  }

  @Test(arguments: ["json", "csv"])
  func `An export that was ended goes on when it is told to, and begins anew otherwise`(format: String) async throws {
    let isBroken = Mutex(true)
    let asked = Mutex<[String?]>([])
    let accounts = FakeAccounts { _, body in
      let after = body["after"]?.text
      asked.withLock { $0.append(after) }
      guard after == nil || !isBroken.withLock({ $0 }) else { return .failure(CommandLineError(.unavailable, "away")) }
      var page: [String: JSONValue] = ["accounts": .array([Self.account(after == nil ? "u1" : "u2")])]
      if after == nil { page["next"] = .text("n1") }
      return .success(.object(page))
    }
    try await withTemporaryDirectory { directory in
      let file = "\(directory)/users.\(format)"
      func run(_ options: String...) async -> Run {
        await Run(
          FakeBackend(accounts: accounts),
          arguments: ["account", "export", file, "--without-hashes", "--project", "example"] + options)
      }
      func require(_ names: [String]) throws {
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).sorted() == names)
      }
      let left = ["users.\(format).export-state", "users.\(format).new"]
      #expect(await run().code == .unavailable)
      try require(left)
      // A page that was not written to its end is cut off.
      let part = URL(filePath: "\(file).new")
      try (Data(contentsOf: part) + Data("half a user".utf8)).write(to: part)
      #expect(await run("--resume").code == .unavailable)
      #expect(await self.run(FakeBackend(accounts: accounts), "export", file, "--resume").code == .badInput)
      isBroken.withLock { $0 = false }
      let resumed = await run("--resume")
      #expect(resumed.output == "2 users are in \(file)\n" && resumed.error == "going on after user 1\n")
      #expect(asked.withLock { $0 } == [nil, "n1", "n1", "n1"])
      let whole = try Data(contentsOf: URL(filePath: file))
      try require(["users.\(format)"])
      #expect(await run("--resume").error.isEmpty)
      #expect(try Data(contentsOf: URL(filePath: file)) == whole)
    }
  }
}
