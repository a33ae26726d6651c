import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import FoundationEssentials
import ServiceRuntime
import Synchronization
import Testing

@testable import CommandLine

@Suite struct KeysCommandTests {
  @Test func `Keys are read back by their reader`() async throws {
    let run = await Run(FakeBackend(), "keys", "generate", "--id", "k1")
    #expect(run.code == .success)
    #expect(try KeyRing(jwkSet: Array(run.output.utf8)).sealing?.id == "k1")
  }

  private func run(_ arguments: [String], onFileWith text: String) async throws -> Run {
    let file = FileManager.default.temporaryDirectory.appending(path: "keys-\(UInt64.random(in: 0 ... .max)).json")
    try Data(text.utf8).write(to: file)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: file) } }
    return await Run(FakeBackend(), arguments: arguments + [file.path])
  }

  @Test func `Keys of accounts are rotated, and their public part is printed`() async throws {
    let first = await Run(FakeBackend(), "keys", "generate", "--sealing", "--id", "k1")
    #expect(first.code == .success)
    let old = try #require(PrivateSealingKeys(jwkSet: Array(first.output.utf8)).first)
    let second = try await run(["keys", "generate", "--sealing", "--id", "k2", "--rotate"], onFileWith: first.output)
    let keys = try PrivateSealingKeys(jwkSet: Array(second.output.utf8))
    #expect(keys.first?.id == "k2" && keys["k1"]?.publicKey == old.publicKey)
    let printed = try await run(["keys", "public"], onFileWith: second.output)
    #expect(printed.code == .success && !printed.output.contains(#""d""#))
    let sealing = try #require(PublicSealingKeys(jwkSet: Array(printed.output.utf8)).sealing)
    #expect(sealing == keys.first?.publicKey)
  }

  @Test(arguments: [false, true])
  func `Keys of one kind are refused where the other is needed`(isSealing: Bool) async throws {
    let shared = await Run(FakeBackend(), "keys", "generate").output
    let sealing = await Run(FakeBackend(), "keys", "generate", "--sealing").output
    let rotation = ["keys", "generate"] + (isSealing ? ["--sealing"] : []) + ["--rotate"]
    let mixed = try await run(rotation, onFileWith: isSealing ? shared : sealing)
    #expect(mixed.code == .badInput && mixed.output.isEmpty, "\(mixed.output)")
    let printed = try await run(["keys", "public"], onFileWith: isSealing ? shared : "nothing")
    #expect(printed.code == .badInput && printed.output.isEmpty)
  }

  @Test func `Keys for ID tokens are rotated by accounts, as the operator`() async throws {
    let reply = JSONValue.object([
      "key": .text("k2"), "signsFrom": .text("2026-07-01T12:00:00Z"), "withdrawn": .array([.text("k1")]),
    ])
    let retired = FakeBackend(reply: .success(reply))
    let run = await Run(retired, "keys", "rotate")
    #expect(run.code == .success && run.output.contains("signs from 2026-07-01T12:00:00"), "\(run.error)")
    #expect(retired.sent.withLock { $0.joined() }.contains(#"as operatorkeys.rotate.v1 {"withdraw":false}"#))
    let withdrawn = FakeBackend(reply: .success(reply))
    #expect(await Run(withdrawn, "keys", "rotate", "--withdraw").output.contains("1 keys were deleted"))
    #expect(withdrawn.sent.withLock { $0.joined() }.contains(#"{"withdraw":true}"#))
    #expect(withdrawn.noted.withLock { $0 } == [NoteAct(act: "keys.rotate", subject: "--withdraw")])
  }
}
