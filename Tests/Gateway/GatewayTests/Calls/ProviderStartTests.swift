import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Gateway

@Suite struct ProviderStartTests {
  private static let create = CallFixture.v1 + "accounts:createAuthUri"
  private static let authURI = "https://id.example.com/authorize?state=s"

  private func fixture(
    _ check: @escaping @Sendable (StartIDPSignIn, PageRequest) -> Void = { _, _ in }
  ) throws -> CallFixture {
    let fixture = try CallFixture(methods: [.provider("google.com")])
    fixture.services.on(StartIDPSignIn.self) { command, asked in
      check(command, try PageRequest(text: Secret(asked.open(command.request))))
      return IDPSignInStarted(authURI: try asked.seal(Self.authURI, to: command.replyKey))
    }
    return fixture
  }

  @Test(arguments: [create, CallFixture.v3 + "createAuthUri"])
  func `The page of a provider is answered, with the session of the flow`(path: String) async throws {
    let fixture = try fixture { command, request in
      #expect(command.providerID == "oidc.example" && command.app == "com.example.push")
      #expect(command.redirectURI == "http://localhost:5000/done")
      #expect(request.sessionHash == SessionID.hash("session-1"))
      #expect(request.scopes == ["mail.read", "calendars.read"])
      #expect(request.parameters == ["login_hint": "ada@example.com"])
    }
    let answer = try await fixture.post(
      path,
      #"{"providerId":"oidc.example","continueUri":"http://localhost:5000/done","sessionId":"session-1","oauthScope":"mail.read calendars.read","customParameter":{"login_hint":"ada@example.com"}}"#
    )
    #expect(
      answer == [
        "kind": "identitytoolkit#CreateAuthUriResponse", "authUri": .text(Self.authURI), "providerId": "oidc.example",
        "sessionId": "session-1",
      ])
    #expect(!fixture.log.contains("session-1"))
  }

  @Test func `Without a session the gateway makes one`() async throws {
    let fixture = try fixture { _, request in #expect(request.scopes == nil && request.parameters == nil) }
    let json = #"{"providerId":"google.com","continueUri":"https://example.firebaseapp.com/"}"#
    let session = try #require(try await fixture.post(Self.create, json)["sessionId"]?.text)
    #expect(session.utf8.count == 43)
  }

  @Test(
    arguments: [
      (#"{"providerId":"google.com"}"#, "MISSING_CONTINUE_URI"),
      (#"{"providerId":"google.com","continueUri":"x"}"#, "INVALID_CONTINUE_URI"),
      (#"{"providerId":"google.com","continueUri":"https://localhost/?a=b"}"#, "INVALID_CONTINUE_URI : "),
      (#"{"providerId":"google.com","continueUri":"https://evil.example/"}"#, "UNAUTHORIZED_DOMAIN : "),
      (#"{"providerId":"facebook.com","continueUri":"https://localhost/"}"#, "OPERATION_NOT_ALLOWED : The identity "),
      (
        #"{"providerId":"google.com","continueUri":"https://localhost/","customParameter":{"a":1}}"#,
        "Invalid JSON payload received."
      ),
      (
        #"{"providerId":"google.com","continueUri":"https://localhost/","oauthScope":"a\\b"}"#,
        "Invalid JSON payload received."
      ),
    ])
  func `What a begin lacks, or may not have, is named`(json: String, message: String) async throws {
    #expect(try await fixture().unasked(Self.create, json).message.hasPrefix(message))
  }

  @Test func `A provider that accounts does not have is answered like one that is off`() async throws {
    let fixture = try fixture()
    fixture.services.refuse(
      StartIDPSignIn.self, APIError(.operationNotAllowed, "x", field: "project", reason: "METHOD_OFF"))
    let error = try await fixture.refusal(
      Self.create, #"{"providerId":"oidc.example","continueUri":"https://localhost/"}"#)
    #expect(error == .providerOff)
  }
}
