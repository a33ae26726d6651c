import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import TestSupport
import Testing

@testable import Gateway

@Suite struct SignInWithPhoneTests {
  private static let path = CallFixture.v1 + "accounts:signInWithPhoneNumber"

  private func fixture(isNewUser: Bool = true) throws -> CallFixture {
    let fixture = try CallFixture()
    fixture.services.on(SignInWithPhone.self) { command, asked in
      #expect(try asked.open(ifAny: command.sessionInfo) == "session-1")
      #expect(try asked.open(ifAny: command.code) == "476431")
      var reply = try asked.signedIn(to: command.replyKey)
      (reply.phoneNumber, reply.isNewUser) = ("+14155550123", isNewUser)
      return reply
    }
    return fixture
  }

  @Test(arguments: [path, CallFixture.v3 + "verifyPhoneNumber"])
  func `Session and code sign in, under both names`(path: String) async throws {
    let fixture = try fixture()
    let answer = try await fixture.post(path, #"{"sessionInfo":"session-1","code":"476431"}"#)
    #expect(
      answer == [
        "idToken": "id-token", "refreshToken": "refresh-token", "expiresIn": "3600", "localId": "local-1",
        "isNewUser": true, "phoneNumber": "+14155550123",
      ])
    let body = try #require(fixture.services.bodies.first)
    #expect(body.names == ["project", "app", "sessionInfo", "code", "client", "replyKey"])
    #expect(body["project"] == "example" && body["app"] == "com.example.push")
  }

  @Test func `A known user is not called new, and secrets travel sealed`() async throws {
    let fixture = try fixture(isNewUser: false)
    let answer = try await fixture.post(Self.path, #"{"session_info":"session-1","code":"476431","idToken":"eyJ.a.b"}"#)
    #expect(answer["isNewUser"] == false && answer["localId"] == "local-1")
    let body = try #require(fixture.services.messages.first).body
    let text = String(decoding: body, as: UTF8.self)
    for secret in ["session-1", "476431", "eyJ.a.b"] { #expect(!text.contains(secret)) }
    for secret in ["session-1", "476431", "eyJ", "id-token", "refresh-token"] { #expect(!fixture.log.contains(secret)) }
  }

  @Test(
    arguments: [
      (#""VERIFY_OP_UNSPECIFIED""#, nil), ("0", nil), (#""SIGN_UP_OR_IN""#, "signUpOrIn"), ("1", "signUpOrIn"),
      (#""REAUTH""#, "reauthenticate"), (#""2""#, "reauthenticate"), (#""UPDATE""#, "update"), ("3", "update"),
      (#""LINK""#, "link"), ("4", "link"), ("null", nil),
    ] as [(String, String?)])
  func `Operations come as names and as numbers`(json: String, operation: String?) async throws {
    let fixture = try fixture()
    _ = try await fixture.post(Self.path, #"{"sessionInfo":"session-1","code":"476431","operation":\#(json)}"#)
    #expect(fixture.services.bodies.first?["operation"]?.text == operation)
  }

  @Test func `A number of another account gives a proof in place of tokens`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(SignInWithPhone.self) { command, asked in
      #expect(try asked.open(ifAny: command.idToken) == "eyJ.a.b")
      var reply = AccountSignedIn()
      reply.phoneNumber = "+14155550123"
      reply.temporaryProof = try asked.seal("proof-1", to: command.replyKey)
      reply.temporaryProofExpiresIn = 3600
      return reply
    }
    let answer = try await fixture.post(
      Self.path, #"{"sessionInfo":"session-1","code":"476431","idToken":"eyJ.a.b","operation":"LINK"}"#)
    #expect(
      answer == [
        "temporaryProof": "proof-1", "temporaryProofExpiresIn": "3600", "phoneNumber": "+14155550123",
      ])
  }

  @Test func `A proof signs in with its number, from an app`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(SignInWithPhone.self) { command, asked in
      #expect(try asked.open(ifAny: command.temporaryProof) == "proof-1")
      #expect(command.phoneNumber == "+14155550123" && command.sessionInfo == nil && command.code == nil)
      #expect(command.app == "com.example.push")
      return try asked.signedIn(to: command.replyKey)
    }
    let json = #"{"temporaryProof":"proof-1","phoneNumber":"+14155550123"}"#
    #expect(try await fixture.post(Self.path, json)["localId"] == "local-1")
    await #expect(throws: ProtocolError.self) { try await fixture.post(Self.path, json, withApp: false) }
  }

  @Test(
    arguments: [
      (#"{}"#, "MISSING_SESSION_INFO"), (#"{"code":"1"}"#, "MISSING_SESSION_INFO"),
      (#"{"sessionInfo":"s"}"#, "MISSING_CODE"), (#"{"sessionInfo":"s","code":""}"#, "MISSING_CODE"),
      (#"{"temporaryProof":"p"}"#, "MISSING_PHONE_NUMBER"),
      (#"{"temporaryProof":"p","phoneNumber":"1"}"#, "INVALID_PHONE_NUMBER : Invalid format."),
      (#"{"temporaryProof":"\#(String(repeating: "p", count: 17_000))"}"#, "INVALID_TEMPORARY_PROOF"),
      (#"{"sessionInfo":"\#(String(repeating: "s", count: 257))","code":"1"}"#, "INVALID_SESSION_INFO"),
      (#"{"sessionInfo":"s","code":"\#(String(repeating: "1", count: 257))"}"#, "INVALID_CODE"),
      (#"{"sessionInfo":"s","code":"1","idToken":"\#(String(repeating: "e", count: 17_000))"}"#, "INVALID_ID_TOKEN"),
    ])
  func `What is missing or cannot be is refused before anything is asked`(json: String, message: String) async throws {
    #expect(try await fixture().unasked(Self.path, json).message == message)
  }

  @Test(
    arguments: [
      #"{"sessionInfo":"s","code":476431}"#, #"{"sessionInfo":["s"],"code":"1"}"#,
      #"{"sessionInfo":"s","code":"476431","operation":"STEAL"}"#,
      #"{"sessionInfo":"s","code":"476431","operation":5}"#,
      #"{"sessionInfo":"s","code":"476431","operation":-1}"#,
    ])
  func `Wrong types are refused without their value`(json: String) async throws {
    let error = try await fixture().unasked(Self.path, json)
    #expect(error.word == "INVALID_ARGUMENT" && !error.message.contains("476431"))
  }

  @Test func `A reply without tokens and proof, or with tokens for another key, is our failure`()
    async throws
  {
    let fixture = try CallFixture()
    let other = try FakeServices()
    fixture.services.on(SignInWithPhone.self) { _, _ in AccountSignedIn() }
    let json = #"{"sessionInfo":"session-1","code":"476431"}"#
    #expect(try await fixture.refusal(Self.path, json).status == 500)
    fixture.services.on(SignInWithPhone.self) { _, asked in try asked.signedIn(to: other.key.publicKey.jwk) }
    #expect(try await fixture.refusal(Self.path, json).status == 500)
  }
}
