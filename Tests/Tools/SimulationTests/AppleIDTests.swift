import CountersignTelemetry
import HTTPClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct AppleIDTests {
  private struct Tokens: Decodable {
    let accessToken: String
    let tokenType: String
    let expiresIn: Int
    let refreshToken: String?
    let idToken: String
  }

  private struct Problem: Decodable {
    let error: String
    let errorDescription: String?
  }

  private struct ShownRevocation: Decodable {
    let clientID: String
    let token: String
    let tokenTypeHint: String?
    let code: String?
    let isKnown: Bool
  }

  private func expect(_ error: String, _ answer: Answer) throws {
    #expect(answer.status == 400)
    #expect(try answer.decoded(Problem.self).error == error)
  }

  @Test func `Code becomes tokens that are revoked`() async throws {
    try await Bench.run { bench in
      let code = try await bench.code()
      let answer = try await bench.appleID("token", ["code": code])
      #expect(answer.status == 200)
      let tokens: Tokens = try answer.decoded()
      #expect(tokens.tokenType == "Bearer")
      #expect(tokens.expiresIn == 3_600)
      let refresh = try #require(tokens.refreshToken)
      let renewal = ["grant_type": "refresh_token", "refresh_token": refresh]
      let renewed = try await bench.appleID("token", renewal)
      #expect(try renewed.decoded(Tokens.self).refreshToken == nil)
      let revoked = try await bench.appleID("revoke", ["token": refresh, "token_type_hint": "refresh_token"])
      #expect(revoked.status == 200)
      #expect(revoked.text.isEmpty)
      try expect("invalid_grant", try await bench.appleID("token", renewal))
      let shown: [ShownRevocation] = try await bench.control("GET", "/revocations?code=\(code)").decoded()
      #expect(shown.map(\.token) == [refresh])
      #expect(shown.map(\.tokenTypeHint) == ["refresh_token"])
      #expect(shown.map(\.isKnown) == [true])
    }
  }

  @Test func `Access token ends the grant too`() async throws {
    try await Bench.run { bench in
      let tokens: Tokens = try await bench.appleID("token", ["code": try await bench.code()]).decoded()
      #expect(try await bench.appleID("revoke", ["token": tokens.accessToken]).status == 200)
      let renewal = ["grant_type": "refresh_token", "refresh_token": tokens.refreshToken]
      try expect("invalid_grant", try await bench.appleID("token", renewal))
    }
  }

  @Test func `Any token is revoked`() async throws {
    try await Bench.run { bench in
      for _ in 0..<2 { #expect(try await bench.appleID("revoke", ["token": "garbage"]).status == 200) }
      let shown: [ShownRevocation] = try await bench.control("GET", "/revocations?token=garbage").decoded()
      #expect(shown.map(\.isKnown) == [false, false])
      _ = try await bench.control("DELETE", "/revocations")
      #expect(try await bench.control("GET", "/revocations").text == "[]\n")
    }
  }

  @Test func `Code is good once and for five minutes`() async throws {
    try await Bench.run { bench in
      let code = try await bench.code()
      let late = try await bench.code()
      bench.clock.advance(by: .milliseconds(299_999))
      #expect(try await bench.appleID("token", ["code": code]).status == 200)
      try expect("invalid_grant", try await bench.appleID("token", ["code": code]))
      bench.clock.advance(by: .milliseconds(1))
      try expect("invalid_grant", try await bench.appleID("token", ["code": late]))
      try expect("invalid_grant", try await bench.appleID("token", ["code": "never-issued"]))
    }
  }

  @Test func `Code is for one client and its redirect URI`() async throws {
    try await Bench.run { bench in
      let uri = "https://example.com/callback"
      let app = try await bench.code()
      try expect("invalid_grant", try await bench.appleID("token", ["code": app], client: "com.example.web"))
      try expect("invalid_grant", try await bench.appleID("token", ["code": app, "redirect_uri": uri]))
      #expect(try await bench.appleID("token", ["code": app]).status == 200)
      let web = try await bench.code(#","redirectURI":"\#(uri)""#)
      try expect("invalid_client", try await bench.appleID("token", ["code": web]))
      try expect("invalid_client", try await bench.appleID("token", ["code": web, "redirect_uri": uri + "/"]))
      #expect(try await bench.appleID("token", ["code": web, "redirect_uri": uri]).status == 200)
    }
  }

  @Test func `Client secret is checked`() async throws {
    try await Bench.run { bench in
      let code = try await bench.code()
      for secret in [
        "", "nonsense", try bench.clientSecret(key: TestKeys.second), try bench.clientSecret(id: "OTHER00001"),
        try bench.clientSecret(id: nil), try bench.clientSecret(team: "OTHER00001"),
        try bench.clientSecret(client: "com.example.web"), try bench.clientSecret(audience: "https://example.com"),
        try bench.clientSecret(from: .seconds(-300), to: .zero), try bench.clientSecret(from: .seconds(120)),
        try bench.clientSecret(to: .seconds(15_777_001)),
      ] {
        for path in ["token", "revoke"] {
          let answer = try await bench.appleID(path, ["code": code, "token": "x", "client_secret": secret])
          try expect(secret.isEmpty ? "invalid_request" : "invalid_client", answer)
        }
      }
      let longest = try bench.clientSecret(to: .seconds(15_777_000))
      #expect(try await bench.appleID("token", ["code": code, "client_secret": longest]).status == 200)
    }
  }

  @Test(
    arguments: [
      ("token", ["code": nil], "invalid_request"), ("token", ["grant_type": nil], "invalid_request"),
      ("token", ["client_id": nil], "invalid_request"), ("token", ["client_id": "com.example.other"], "invalid_client"),
      ("token", ["grant_type": "password"], "unsupported_grant_type"),
      ("token", ["grant_type": "refresh_token"], "invalid_request"), ("revoke", [:], "invalid_request"),
    ] as [(String, [String: String?], String)])
  func `Wrong form is refused`(path: String, changes: [String: String?], error: String) async throws {
    try await Bench.run { bench in
      try expect(error, try await bench.appleID(path, changes))
    }
  }

  @Test(arguments: ["unauthorized_client", "invalid_scope"])
  func `Code fails as ordered`(error: String) async throws {
    try await Bench.run { bench in
      let code = try await bench.code(#","error":"\#(error)""#)
      try expect(error, try await bench.appleID("token", ["code": code]))
    }
  }

  @Test func `Orders for codes are checked`() async throws {
    try await Bench.run { bench in
      for order in [
        "{}", #"{"clientID":"com.example.other"}"#, #"{"clientID":"com.example.app","error":"bad"}"#,
        #"{"clientID":"com.example.app","lifetimeSeconds":-1}"#, #"{"clientID":"com.example.app","code":"x"}"#,
      ] {
        let answer = try await bench.control("POST", "/apple/codes", order)
        #expect(answer.status == 400)
      }
    }
  }

  @Test func `Fault may hide a token that was issued`() async throws {
    try await Bench.run { bench in
      let code = try await bench.code()
      _ = try await bench.control("POST", "/faults", #"{"provider":"apple-token","fault":"reset","processed":true}"#)
      await #expect(throws: TransportError.self) { try await bench.appleID("token", ["code": code]) }
      let again = try await bench.appleID("token", ["code": code])
      #expect(try again.decoded(Problem.self).errorDescription == "The code has already been used.")
      _ = try await bench.control("POST", "/faults", #"{"provider":"apple-revoke","fault":503}"#)
      #expect(try await bench.appleID("revoke", ["token": "x"]).status == 503)
      #expect(try await bench.control("GET", "/revocations").text == "[]\n")
    }
  }
}

extension Bench {
  func code(_ more: String = "") async throws -> String {
    struct Issued: Decodable { let code: String }
    let answer = try await control("POST", "/apple/codes", #"{"clientID":"com.example.app"\#(more)}"#)
    #expect(answer.status == 201)
    return try answer.decoded(Issued.self).code
  }

  func clientSecret(
    team: String = "EXAMPLE001", client: String = "com.example.app", audience: String = "https://appleid.apple.com",
    key: String = TestKeys.first, id: String? = "KEY0000001", from: Duration = .zero, to: Duration = .seconds(300)
  ) throws -> String {
    let now = clock.now()
    return try TestKeys.token(
      [
        ("iss", .text(team)), ("sub", .text(client)), ("aud", .text(audience)), ("iat", .time(now + from)),
        ("exp", .time(now + to)),
      ], key: key, id: id)
  }

  func appleID(
    _ path: String, _ changes: [String: String?], client: String = "com.example.app"
  ) async throws -> Answer {
    var fields: [String: String?] = ["client_id": client, "client_secret": try clientSecret(client: client)]
    if path == "token" { fields["grant_type"] = "authorization_code" }
    fields.merge(changes) { $1 }
    return try await send(
      "POST", "/auth/\(path)", headers: ["Content-Type": "application/x-www-form-urlencoded"], body: encode(fields))
  }
}
