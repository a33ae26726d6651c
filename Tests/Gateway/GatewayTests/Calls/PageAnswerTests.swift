import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// `signInWithIdp` with what the page of a provider has answered.
@Suite struct PageAnswerTests {
  private static let signIn = CallFixture.v1 + "accounts:signInWithIdp"
  private static let page = "https://auth.example.com/__/auth/handler"

  private final class Credential: Sendable {
    let value = Mutex<IDPCredential?>(nil)
  }

  private func sent(_ json: String) async throws -> IDPCredential? {
    let fixture = try CallFixture(methods: [.provider("apple.com")])
    let credential = Credential()
    fixture.services.on(SignInWithIDP.self) { command, asked in
      credential.value.withLock { $0 = try? IDPCredential(text: Secret(asked.open(command.credential))) }
      return try asked.signedIn(to: command.replyKey)
    }
    #expect(try await fixture.post(Self.signIn, json)["localId"] == "local-1")
    return credential.value.withLock { $0 }
  }

  private var expected: IDPCredential {
    var credential = IDPCredential()
    (credential.state, credential.redirectURI, credential.sessionID) = ("state-1", Self.page, "session-1")
    return credential
  }

  @Test func `The code flow's answer is read from the query, or from a form`() async throws {
    var expected = expected
    (expected.code, expected.issuer) = ("code/1", "https://id.example.com")
    let query = "code=code%2F1&state=state-1&iss=https%3A%2F%2Fid.example.com"
    let inQuery = try await sent(#"{"requestUri":"\#(Self.page)?\#(query)","sessionId":"session-1"}"#)
    #expect(inQuery == expected)
    let inForm = try await sent(
      #"{"requestUri":"\#(Self.page)","postBody":"\#(query)&providerId=apple.com","sessionId":"session-1"}"#)
    expected.providerID = "apple.com"
    #expect(inForm == expected)
  }

  @Test func `The implicit flow's answer is read from the fragment`() async throws {
    var expected = expected
    (expected.idToken, expected.accessToken, expected.user) = ("eyJ.b.c", "access-1", #"{"name":{}}"#)
    let fragment = "id_token=eyJ.b.c&access_token=access-1&state=state-1&user=%7B%22name%22%3A%7B%7D%7D"
    #expect(try await sent(#"{"requestUri":"\#(Self.page)#\#(fragment)","sessionId":"session-1"}"#) == expected)
  }

  @Test func `The page of an app that brings a token from elsewhere may have any query`() async throws {
    var expected = IDPCredential(providerID: "oidc.example")
    expected.idToken = "eyJ.b.c"
    let json = #"{"requestUri":"http://localhost/?a=b#c","postBody":"providerId=oidc.example&id_token=eyJ.b.c"}"#
    #expect(try await sent(json) == expected)
  }

  @Test(
    arguments: [
      ("?error=access_denied&state=s", "USER_CANCELLED : "), ("#error=access_denied&state=s", "USER_CANCELLED : "),
      ("?error=user_cancelled_authorize&state=s", "USER_CANCELLED : "),
      ("?error=server_error&state=s&code=c", "INVALID_IDP_RESPONSE : "), ("?code=code-1", "INVALID_IDP_RESPONSE : "),
      ("", "INVALID_CREDENTIAL_OR_PROVIDER_ID : "), ("?error=access_denied", "INVALID_CREDENTIAL_OR_PROVIDER_ID : "),
      ("?state=s&code=" + String(repeating: "a", count: 17_000), "INVALID_REQUEST_URI"),
      ("?state=" + String(repeating: "a&", count: 60), "Invalid JSON payload received."),
    ])
  func `An answer without a sign-in in it is refused`(answer: String, message: String) async throws {
    let error = try await CallFixture().unasked(
      Self.signIn, #"{"requestUri":"\#(Self.page)\#(answer)","sessionId":"session-1"}"#)
    #expect(error.message.hasPrefix(message), "\(error.message)")
  }

  @Test func `A provider of a page that is off is refused before accounts is asked`() async throws {
    let fixture = try CallFixture()
    let json = #"{"requestUri":"\#(Self.page)?code=c&state=s","postBody":"providerId=google.com","sessionId":"s"}"#
    #expect(try await fixture.refusal(Self.signIn, json) == .providerOff)
  }
}
