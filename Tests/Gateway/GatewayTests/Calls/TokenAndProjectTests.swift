import CountersignEncoding
import CountersignMessages
import Projects
import TestSupport
import Testing

@testable import Gateway

@Suite struct TokenCallTests {
  private static let path = "/securetoken.googleapis.com/v1/token"

  private func fixture() throws -> CallFixture {
    let fixture = try CallFixture()
    fixture.services.on(RefreshSession.self) { command, asked in
      #expect(command.project == "example")
      #expect(try asked.open(command.refreshToken) == "old+token/=")
      return SessionRefreshed(localID: "local-1", tokens: try asked.tokens(to: command.replyKey))
    }
    return fixture
  }

  private static let answer: JSONValue = [
    "access_token": "id-token", "id_token": "id-token", "refresh_token": "refresh-token", "expires_in": "3600",
    "token_type": "Bearer", "user_id": "local-1", "project_id": "100000000001",
  ]

  @Test func `A form refreshes`() async throws {
    let fixture = try fixture()
    let form = "grant_type=refresh_token&refresh_token=old%2Btoken%2F%3D"
    #expect(try await fixture.post(Self.path, form: form) == Self.answer)
    #expect(fixture.services.bodies.first?.names.count == 3)
  }

  @Test(
    arguments: [
      #"{"grantType":"refresh_token","refreshToken":"old+token/="}"#,
      #"{"grant_type":"refresh_token","refresh_token":"old+token/=","scope":"x"}"#,
    ])
  func `JSON refreshes in either spelling`(json: String) async throws {
    let fixture = try fixture()
    #expect(try await fixture.post(Self.path, json) == Self.answer)
    #expect(!fixture.log.contains("old+token") && !fixture.log.contains("id-token"))
  }

  @Test(
    arguments: [
      (#"{}"#, "MISSING_GRANT_TYPE"), (#"{"refreshToken":"t"}"#, "MISSING_GRANT_TYPE"),
      (#"{"grantType":"authorization_code","refreshToken":"t"}"#, "INVALID_GRANT_TYPE"),
      (#"{"grantType":"refresh_token"}"#, "MISSING_REFRESH_TOKEN"),
      (#"{"grantType":"refresh_token","refreshToken":""}"#, "MISSING_REFRESH_TOKEN"),
      (
        #"{"grantType":"refresh_token","refreshToken":"\#(String(repeating: "t", count: 17_000))"}"#,
        "INVALID_REFRESH_TOKEN"
      ),
    ])
  func `Wrong requests have the protocol's errors`(json: String, message: String) async throws {
    #expect(try await fixture().unasked(Self.path, json).message == message)
  }
}

@Suite struct ProjectCallTests {
  @Test(
    arguments: [CallFixture.v1 + "projects", CallFixture.v3 + "getProjectConfig"])
  func `A project has its number and its domains`(path: String) async throws {
    let answer = try await CallFixture().get(path, query: "key=fake-api-key&alt=json")
    #expect(answer == ["projectId": "100000000001", "authorizedDomains": ["localhost", "example.firebaseapp.com"]])
  }

  @Test(arguments: [CallFixture.v1 + "recaptchaParams", CallFixture.v3 + "getRecaptchaParam"])
  func `A site key is shown`(path: String) async throws {
    let answer = try await CallFixture(recaptcha: .init(siteKey: "site-key")).get(path)
    #expect(answer == ["kind": "identitytoolkit#GetRecaptchaParamResponse", "recaptchaSiteKey": "site-key"])
  }

  @Test func `Without a site key there is an error, and in development a key that nobody uses`() async throws {
    let path = CallFixture.v1 + "recaptchaParams"
    let error = await #expect(throws: ProtocolError.self) { try await CallFixture().get(path) }
    #expect(error?.message == "RECAPTCHA_NOT_ENABLED" && error?.status == 400)
    let answer = try await CallFixture(isDevelopment: true).get(path)
    #expect(answer["recaptchaSiteKey"]?.text?.hasPrefix("Fake-key") == true)
  }

  @Test(
    arguments: [
      (nil, nil, "OFF"), (.init(enterpriseKey: "projects/p/keys/k", phone: .off), "projects/p/keys/k", "OFF"),
      (.init(enterpriseKey: "projects/p/keys/k", phone: .audit), "projects/p/keys/k", "AUDIT"),
      (.init(enterpriseKey: "projects/p/keys/k", phone: .enforce), "projects/p/keys/k", "ENFORCE"),
    ] as [(Project.Recaptcha?, String?, String)])
  func `Enforcement is shown, with the key that is configured, whether it is enforced or not`(
    recaptcha: Project.Recaptcha?, key: String?, state: String
  ) async throws {
    let answer = try await CallFixture(recaptcha: recaptcha).get(
      CallFixture.v2 + "recaptchaConfig", query: "clientType=CLIENT_TYPE_IOS&version=RECAPTCHA_ENTERPRISE")
    #expect(answer["recaptchaKey"]?.text == key)
    #expect(
      answer["recaptchaEnforcementState"] == [
        ["provider": "PHONE_PROVIDER", "enforcementState": .text(state)],
        ["provider": "EMAIL_PASSWORD_PROVIDER", "enforcementState": "OFF"],
      ])
  }

  @Test(arguments: ["clientType=TOASTER", "version=2"])
  func `Unknown clients and versions are refused`(query: String) async throws {
    let error = await #expect(throws: ProtocolError.self) {
      try await CallFixture().get(CallFixture.v2 + "recaptchaConfig", query: query)
    }
    #expect(error?.status == 400 && error?.word == "INVALID_ARGUMENT")
  }
}
