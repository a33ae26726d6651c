import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Gateway

@Suite struct ConsentCallTests {
  private static let path = CallFixture.v1 + "accounts:recordConsent"
  private static let administrators = CallFixture.v1 + "projects/example/accounts:recordConsent"
  private static let given = Consent(
    purpose: "linking", textVersion: "2026-11", data: ["phone", "google.com"],
    givenAt: UnixTime(milliseconds: 1_782_907_200_123))

  private static var view: ConsentView {
    var view = ConsentView(given, recordedAt: CallFixture.now)
    view.revokedAt = CallFixture.now
    return view
  }

  private static let entry: JSONValue = [
    "purpose": "linking", "textVersion": "2026-11", "data": ["phone", "google.com"],
    "givenAt": "2026-07-01T12:00:00.123Z", "recordedAt": .text(CallFixture.now.rfc3339),
    "revokedAt": .text(CallFixture.now.rfc3339),
  ]

  @Test func `A user records consents, revokes others, and is shown all`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(RecordConsent.self) { command, asked throws in
      #expect(try asked.open(ifAny: command.idToken) == "eyJ.a.b" && command.bearer == nil && command.localID == nil)
      #expect(command.project == "example" && command.consents == [Self.given] && command.revokedPurposes == ["news"])
      return ConsentsRecorded(consents: [Self.view])
    }
    let answer = try await fixture.post(
      Self.path,
      #"""
      {"idToken":"eyJ.a.b","consents":[{"purpose":"linking","textVersion":"2026-11","data":["phone","google.com"],
      "givenAt":"2026-07-01T12:00:00.123Z"}],"revokePurposes":["news"]}
      """#)
    #expect(answer == ["consents": [Self.entry]])
  }

  @Test func `An administrator revokes by the user's ID`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(RecordConsent.self) { command, asked throws in
      #expect(try asked.open(ifAny: command.bearer) == "ya29.token")
      #expect(command.idToken == nil && command.localID == "local-1")
      #expect(command.consents == nil && command.revokedPurposes == ["linking"])
      return ConsentsRecorded(consents: [])
    }
    let answer = try await fixture.post(
      Self.administrators, #"{"localId":"local-1","revokePurposes":["linking"]}"#, bearer: "ya29.token")
    #expect(answer == ["consents": []])
  }

  @Test(
    arguments: [
      (#"{"consents":[]}"#, "MISSING_ID_TOKEN"),
      (#"{"idToken":"t","consents":{}}"#, "Invalid value at 'consents'"),
      (#"{"idToken":"t","consents":[{"textVersion":"1","givenAt":"2026-07-01T12:00:00Z"}]}"#, "'consents[0].purpose'"),
      (#"{"idToken":"t","consents":[{"purpose":"p","givenAt":"2026-07-01T12:00:00Z"}]}"#, "'consents[0].textVersion'"),
      (#"{"idToken":"t","consents":[{"purpose":"p","textVersion":"1","givenAt":"now"}]}"#, "'consents[0].givenAt'"),
      (
        #"{"idToken":"t","consents":[{"purpose":"p","textVersion":"1","givenAt":"2026-07-01T12:00:00Z","data":[1]}]}"#,
        "'consents[0].data'"
      ), (#"{"idToken":"t","revokePurposes":[1]}"#, "'revokePurposes'"),
    ])
  func `What is no consent is refused by its field, before anything is asked`(json: String, problem: String)
    async throws
  {
    #expect(try await CallFixture().unasked(Self.path, json).message.contains(problem))
  }

  @Test(
    arguments: [
      ("{}", "MISSING_LOCAL_ID"), (#"{"localId":"a","idToken":"t"}"#, "UNEXPECTED_PARAMETER : ID token"),
      (#"{"localId":"a","consents":[]}"#, "UNEXPECTED_PARAMETER : Consents"),
    ])
  func `An administrator gives no consents`(json: String, message: String) async throws {
    #expect(try await CallFixture().unasked(Self.administrators, json, bearer: "ya29.token").message == message)
  }

  @Test func `Fields that accounts refuses are named, and a consent that is missing has its code`() async throws {
    for (field, name) in [("consents", "consents"), ("revokedPurposes", "revokePurposes")] {
      let error = ProtocolError(APIError(.invalidArgument, "x", field: field))
      #expect(error.status == 400 && error.message.contains("'\(name)'"))
    }
    let fixture = try CallFixture()
    fixture.services.refuse(UpdateAccount.self, APIError(.consentRequired, "x"))
    let error = try await fixture.refusal(CallFixture.v1 + "accounts:update", #"{"idToken":"t","email":"a@b.example"}"#)
    #expect(error.status == 400 && error.message.hasPrefix("CONSENT_REQUIRED : "))
  }

  @Test func `A sign-in by a credential that counts once tells the missing consent beside its pending token`()
    async throws
  {
    let fixture = try CallFixture(methods: [.provider("apple.com")])
    fixture.services.on(SignInWithIDP.self) { command, asked in
      var reply = AccountSignedIn()
      reply.refusal = .consentRequired
      reply.pendingToken = try asked.seal("pending", to: command.replyKey)
      return reply
    }
    let answer = try await fixture.post(
      CallFixture.v1 + "accounts:signInWithIdp",
      #"{"requestUri":"http://localhost","postBody":"providerId=apple.com&id_token=x","returnSecureToken":true}"#)
    #expect(answer["errorMessage"]?.text?.hasPrefix("CONSENT_REQUIRED") == true)
    #expect(answer["pendingToken"] == "pending" && answer["idToken"] == nil)
  }

  @Test func `A look-up shows the consents`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(LookUpAccount.self) { _, _ in
      var account = UserCallTests.view("local-1")
      account.consents = [Self.view]
      return AccountFound(account: account)
    }
    let user = try await fixture.post(CallFixture.v1 + "accounts:lookup", #"{"idToken":"eyJ.a.b"}"#)["users"]?[0]
    #expect(user?["consents"] == [Self.entry])
  }
}
