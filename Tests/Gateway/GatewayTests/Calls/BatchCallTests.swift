import CountersignAMQP
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Synchronization
import TestSupport
import Testing

@testable import Gateway

@Suite struct BatchCallTests {
  private static let path = CallFixture.v1 + "projects/example/accounts:"
  private static let bearer = "ya29.token"

  @Test func `A batch is split, and refused users keep their places`() async throws {
    let fixture = try CallFixture()
    let sizes = Mutex<[Int]>([])
    fixture.services.on(ImportAccounts.self) { command, asked in
      #expect(try asked.open(ifAny: command.bearer) == Self.bearer)
      let batch = try UserBatch(text: Secret(asked.open(command.batch)))
      sizes.withLock { $0.append(batch.users.count) }
      #expect(batch.hash?.hashAlgorithm == "STANDARD_SCRYPT" && batch.hash?.memoryCost == 1024)
      #expect(batch.keepsExisting == true && batch.users.allSatisfy { $0.passwordHash == "aA==" && $0.salt == "bA==" })
      #expect(batch.users[0].identities?.map(\.providerID) == ["apple.com"])
      return AccountsImported(refused: [RefusedUser(index: 1, message: "EMAIL_EXISTS")])
    }
    var users = (0..<150).map { index in
      #"""
      {"localId":"u\#(index)","passwordHash":"aA==","salt":"bA==","providerUserInfo":
      [{"providerId":"apple.com","rawId":"s\#(index)"},{"providerId":"password","rawId":"x"}]}
      """#
    }
    users[7] = #"{"email":"a@example.com"}"#
    let answer = try await fixture.post(
      Self.path + "batchCreate",
      #"""
      {"users":[\#(users.joined(separator: ","))],"hashAlgorithm":"STANDARD_SCRYPT","cpuMemCost":1024,
      "allowOverwrite":false}
      """#, bearer: Self.bearer)
    #expect(sizes.withLock { $0 } == [100, 49])
    #expect(
      answer == [
        "kind": "identitytoolkit#UploadAccountResponse",
        "error": [
          ["index": 1, "message": "EMAIL_EXISTS"], ["index": 7, "message": "MISSING_LOCAL_ID"],
          ["index": 102, "message": "EMAIL_EXISTS"],
        ],
      ])
  }

  @Test func `Large users make smaller commands`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(ImportAccounts.self) { _, _ in AccountsImported(refused: []) }
    let text = String(repeating: "é", count: 7_000)
    let users = (0..<6).map { #"{"localId":"u\#($0)","displayName":"\#(text)"}"# }
    let answer = try await fixture.post(
      Self.path + "batchCreate", #"{"users":[\#(users.joined(separator: ","))]}"#, bearer: Self.bearer)
    #expect(answer["error"] == nil && fixture.services.messages.count == 3)
  }

  @Test(
    arguments: [
      ("{}", "MISSING_USER_ACCOUNT"),
      (#"{"users":[\#(Array(repeating: "{}", count: 1_001).joined(separator: ","))]}"#, "MAXIMUM_USER_COUNT_EXCEEDED"),
    ])
  func `A batch has 1 to 1,000 users`(json: String, message: String) async throws {
    #expect(try await CallFixture().unasked(Self.path + "batchCreate", json, bearer: Self.bearer).message == message)
  }

  @Test func `A page is put together from several replies, with the hashes`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(ListAccounts.self) { command, asked in
      #expect(try asked.open(ifAny: command.bearer) == Self.bearer)
      let start = Int(command.after ?? "0") ?? 0
      var reply = AccountsFound(accounts: (start..<start + min(2, command.limit)).map { UserCallTests.view("u\($0)") })
      reply.next = String(start + reply.accounts.count)
      let hashes = PasswordHashes(entries: [.init(localID: "u0", stored: "$argon2id$x")])
      reply.hashes = try asked.seal(hashes.text().reveal(), to: try #require(command.replyKey))
      return reply
    }
    let answer = try await fixture.get(Self.path + "batchGet", query: "maxResults=5", bearer: Self.bearer)
    #expect(answer["users"]?.array.compactMap { $0["localId"]?.text } == ["u0", "u1", "u2", "u3", "u4"])
    #expect(answer["users"]?[0]?["passwordHash"]?.text == Base64.encode(Array("$argon2id$x".utf8)))
    #expect(answer["nextPageToken"] == "5" && fixture.services.messages.count == 3)
  }

  @Test func `Without the role for hashes the list is asked for again, without them`() async throws {
    let fixture = try CallFixture()
    fixture.services.refuse(ListAccounts.self, APIError(.insufficientPermission, "x", field: "bearer"))
    let refused = await #expect(throws: ProtocolError.self) {
      try await fixture.get(Self.path + "batchGet", bearer: Self.bearer)
    }
    // With neither role, both are refused.
    #expect(refused?.status == 403)
    #expect(fixture.services.bodies.map { $0["replyKey"] == nil } == [false, true])
  }

  @Test func `Deleting skips who is not there, and tells who is not disabled`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(RemoveAccounts.self) { command, _ in
      #expect(command.force == nil)
      return AccountsRemoved(refused: [
        RefusedUser(index: 0, message: "USER_NOT_FOUND : x"), RefusedUser(index: 2, message: "NOT_DISABLED : y"),
      ])
    }
    let ids = (0..<103).map { #""u\#($0)""# }.joined(separator: ",")
    let answer = try await fixture.post(Self.path + "batchDelete", #"{"localIds":[\#(ids)]}"#, bearer: Self.bearer)
    #expect(
      answer == [
        "errors": [
          ["index": 2, "localId": "u2", "message": "NOT_DISABLED : y"],
          ["index": 82, "localId": "u82", "message": "NOT_DISABLED : y"],
        ]
      ])
    let many = Array(repeating: #""u""#, count: 1_001).joined(separator: ",")
    let error = try await fixture.refusal(Self.path + "batchDelete", #"{"localIds":[\#(many)]}"#, bearer: Self.bearer)
    #expect(error.message == "LOCAL_ID_LIST_EXCEEDS_LIMIT")
  }

  @Test(
    arguments: [
      ("lookup", "{}", FindAccounts.type), ("lookup", #"{"localId":[""]}"#, FindAccounts.type),
      ("query", #"{"expression":[{}]}"#, FindAccounts.type),
      ("batchDelete", "{}", RemoveAccounts.type),
      ("batchDelete", #"{"localIds":["\#(String(repeating: "u", count: 129))"]}"#, RemoveAccounts.type),
      ("batchCreate", #"{"users":[{}]}"#, ImportAccounts.type),
    ])
  func `A call that names nobody has its caller judged`(name: String, json: String, type: MessageType) async throws {
    let fixture = try CallFixture()
    let error = APIError(.invalidAccessToken, "x", field: "bearer")
    fixture.services.refuse(FindAccounts.self, error)
    fixture.services.refuse(RemoveAccounts.self, error)
    fixture.services.refuse(ImportAccounts.self, error)
    #expect(try await fixture.refusal(Self.path + name, json, bearer: Self.bearer).status == 401)
    #expect(fixture.services.messages.map(\.type) == [type.text])
  }

  @Test(arguments: ["é", "\u{1}"])
  func `A thousand of the longest IDs are deleted by messages that fit`(character: String) async throws {
    let fixture = try CallFixture()
    let id = String(repeating: character, count: 128 / character.utf8.count)
    fixture.services.on(RemoveAccounts.self) { command, _ in
      #expect(command.localIDs.allSatisfy { $0 == id })
      return AccountsRemoved(refused: [])
    }
    let escaped = character.unicodeScalars.map { #"\u00\#($0.value < 16 ? "0" : "")\#(String($0.value, radix: 16))"# }
    let text = String(repeating: escaped.joined(), count: 128 / character.utf8.count)
    let ids = Array(repeating: "\"\(text)\"", count: BatchCalls.maxUsers).joined(separator: ",")
    let body = try CallBody(json: Array(#"{"localIds":[\#(ids)]}"#.utf8), .list)
    #expect(try await fixture.call(Self.path + "batchDelete", .post, body: body, bearer: Self.bearer) == .object([:]))
    #expect(fixture.services.messages.count == 13)
    #expect(fixture.services.messages.allSatisfy { $0.body.count <= MessageLimits.maxBodyBytes })
  }

  @Test func `A query finds by expression, or lists the first users`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(FindAccounts.self) { command, asked in
      let selection = try AccountSelection(text: Secret(asked.open(command.selection)))
      #expect(selection.emails == ["a@example.com"] && selection.localIDs == ["u1"])
      return AccountsFound(accounts: [UserCallTests.view("u1")])
    }
    fixture.services.on(ListAccounts.self) { command, _ in
      #expect(command.limit == 3 && command.replyKey == nil)
      return AccountsFound(accounts: (0..<3).map { UserCallTests.view("u\($0)") })
    }
    let found = try await fixture.post(
      Self.path + "query", #"{"expression":[{"email":"a@example.com"},{"userId":"u1"}]}"#, bearer: Self.bearer)
    #expect(found["recordsCount"] == "1" && found["userInfo"]?[0]?["localId"] == "u1")
    let listed = try await fixture.post(Self.path + "query", #"{"limit":"2","offset":"1"}"#, bearer: Self.bearer)
    #expect(listed["userInfo"]?.array.compactMap { $0["localId"]?.text } == ["u1", "u2"])
    for json in [#"{"limit":501}"#, #"{"offset":"501"}"#, #"{"offset":-1}"#] {
      #expect(try await fixture.refusal(Self.path + "query", json, bearer: Self.bearer).status == 400, "\(json)")
    }
  }

  @Test func `A query without users counts all, in as many commands as it takes`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(ListAccounts.self) { command, _ in
      #expect(command.countsOnly == true && command.replyKey == nil && command.bearer != nil)
      var found = AccountsFound(accounts: [])
      (found.count, found.next) = command.after == nil ? (50_000, "place") : (7, nil)
      return found
    }
    let answer = try await fixture.post(Self.path + "query", #"{"returnUserInfo":false}"#, bearer: Self.bearer)
    #expect(answer == ["recordsCount": "50007"])
  }
}
