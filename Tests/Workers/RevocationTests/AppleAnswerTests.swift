import CountersignTelemetry
import HTTPClient
import JobEngine
import Testing

@testable import Revocation

@Suite struct AppleAnswerTests {
  private func answer(_ status: Int, _ body: String, _ headers: HTTPHeaders = [:]) -> AppleAnswer {
    AppleAnswer(HTTPResponse(status: status, headers: headers, body: Array(body.utf8)), now: Samples.now)
  }

  @Test(
    arguments: [
      (400, #"{"error":"invalid_request"}"#, "refused INVALID_REQUEST"),
      (400, #"{"error":"invalid_client"}"#, "laneDown PROVIDER_CREDENTIALS"),
      (
        400, #"{"error":"invalid_grant","error_description":"The code has already been used."}"#,
        "refused INVALID_GRANT"
      ),
      (400, #"{"error":"unauthorized_client"}"#, "laneDown CLIENT_NOT_AUTHORIZED"),
      (400, #"{"error":"unsupported_grant_type"}"#, "laneDown UNSUPPORTED_GRANT_TYPE"),
      (400, #"{"error":"invalid_scope"}"#, "refused INVALID_SCOPE"),
      // A later word, and bodies that are no JSON: the status has to do.
      (400, #"{"error":"access_denied"}"#, "refused PROVIDER_REFUSED"),
      (400, "<html>Bad Request</html>", "refused PROVIDER_REFUSED"),
      (400, String(repeating: "[", count: 513), "refused PROVIDER_REFUSED"),
      (401, "", "laneDown PROVIDER_CREDENTIALS"), (404, "", "laneDown PROVIDER_CONFIGURATION"),
      (302, "", "laneDown PROVIDER_CONFIGURATION"), (429, "", "retry PROVIDER_THROTTLED"),
      (500, "<html>", "unknown PROVIDER_ERROR"), (502, "", "unknown PROVIDER_ERROR"),
      (503, "", "unknown PROVIDER_ERROR"),
    ])
  func `Each answer has its class`(status: Int, body: String, expected: String) throws {
    let classification = answer(status, body).classification(try Samples.table())
    #expect(classification.short == expected)
    #expect(classification.detail.utf8.count > 20)
  }

  @Test func `A client that is refused names the likely causes`() throws {
    let detail = answer(400, #"{"error":"invalid_client"}"#).classification(try Samples.table()).detail
    for cause in ["keyID", "keyFile", "teamID", "clientID", "clock", "redirectURI"] { #expect(detail.contains(cause)) }
    #expect(detail.utf8.count <= Reason.maxDetailBytes)
  }

  @Test func `No text of the table is cut`() throws {
    for error in ["invalid_request", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope"]
    {
      let classification = answer(400, #"{"error":"\#(error)"}"#).classification(try Samples.table())
      #expect(classification.detail.utf8.count <= Reason.maxDetailBytes)
    }
    for reason in [Reason.lost, .notConfirmed, .redirectMismatch, .unknownClient] {
      #expect(reason.detail.utf8.count <= Reason.maxDetailBytes)
    }
  }

  @Test func `A wait that Apple asks for is kept`() throws {
    #expect(
      answer(429, "", ["Retry-After": "7"]).classification(try Samples.table()).short == "retry PROVIDER_THROTTLED 7")
    #expect(
      answer(503, "", ["Retry-After": "9"]).classification(try Samples.table()).short == "retry PROVIDER_ERROR 9")
  }

  @Test func `Words that are not apples are not repeated`() {
    #expect(answer(400, #"{"error":"<script>"}"#).error == nil)
    #expect(answer(400, #"{"error":"\#(String(repeating: "a", count: 65))"}"#).error == nil)
  }

  @Test func `The refresh token is taken where there is one`() {
    func yield(_ body: String) -> String {
      switch answer(200, body).token {
      case .refreshToken(let token): "refresh \(token.reveal())"
      case .accessToken(let token): "access \(token.reveal())"
      case nil: "nothing"
      }
    }
    #expect(yield(#"{"access_token":"a","refresh_token":"r","token_type":"Bearer","expires_in":3600}"#) == "refresh r")
    #expect(yield(#"{"access_token":"a","refresh_token":""}"#) == "access a")
    #expect(yield(#"{"id_token":"i"}"#) == "nothing")
    #expect(yield("not JSON") == "nothing")
  }
}
