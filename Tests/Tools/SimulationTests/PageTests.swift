import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPClient
import Simulation
import TestSupport
import Testing

/// Pages of the identity providers, which consent at once, and the exchange of their codes.
@Suite(.timeLimit(.minutes(10)))
struct PageTests {
  static let callback = "https://gateway.example.com/__/auth/handler"
  private static let verifier = "0123456789012345678901234567890123456789-._~"
  private static let challenge = Base64URL.encode(SHA256.hash(Array(verifier.utf8)))
  private static let clientID = "simulated-client"
  private static let basic = "Basic \(Base64.encode(Array("simulated-client:simulated-client-secret".utf8)))"

  private static let codeFlow = [
    "client_id": clientID, "redirect_uri": callback, "response_type": "code", "scope": "openid email profile",
    "state": "s", "nonce": "n", "code_challenge": challenge, "code_challenge_method": "S256",
  ]

  private func exchange(
    _ bench: Bench, _ code: String?, _ changes: [String: String?] = [:], authorization: String? = basic
  ) async throws -> Answer {
    var fields: [String: String?] = [
      "grant_type": "authorization_code", "code": code, "redirect_uri": Self.callback, "code_verifier": Self.verifier,
    ]
    fields.merge(changes) { $1 }
    return try await bench.form("/oidc/token", fields, authorization)
  }

  // MARK: OpenID Connect

  @Test func `Code flow ends in the tokens and the profile of the user`() async throws {
    try await Bench.run { bench in
      let metadata = try await bench.members("/oidc/.well-known/openid-configuration")
      let issuer = bench.simulator.url + "/oidc"
      #expect(metadata["issuer"] == .text(issuer))
      #expect(metadata["authorization_endpoint"] == .text(issuer + "/authorize"))
      try await bench.consents(
        "oidc", #"{"clientID":"simulated-client","subject":"1","email":"a@example.com","name":"Ada"}"#)
      let back = try await bench.leadsBack("/oidc/authorize", Self.codeFlow)
      #expect(back["state"] == "s")
      #expect(back["iss"] == issuer)
      let tokens = try bench.members(try await exchange(bench, back["code"]).response.body)
      let claims = try await bench.claims(try #require(tokens["id_token"]?.text), "/oidc/keys")
      #expect(claims["iss"] == .text(issuer))
      #expect(claims["sub"] == "1")
      #expect(claims["aud"] == .text(Self.clientID))
      #expect(claims["nonce"] == "n")
      #expect(claims["email"] == "a@example.com")
      #expect(claims["at_hash"] != nil)
      let bearer: HTTPHeaders = ["Authorization": "Bearer \(try #require(tokens["access_token"]?.text))"]
      let user = try await bench.members("/oidc/userinfo", bearer)
      #expect(
        user == ["sub": "1", "email": "a@example.com", "email_verified": .bool(true), "name": "Ada"])
    }
  }

  @Test func `Scopes decide what is told`() async throws {
    try await Bench.run { bench in
      try await bench.consents(
        "oidc", #"{"clientID":"simulated-client","subject":"1","email":"a@example.com","name":"Ada"}"#)
      let back = try await bench.leadsBack("/oidc/authorize", Self.codeFlow.merging(["scope": "openid"]) { $1 })
      let tokens = try bench.members(try await exchange(bench, back["code"]).response.body)
      let claims = try await bench.claims(try #require(tokens["id_token"]?.text), "/oidc/keys")
      #expect(claims["email"] == nil)
      #expect(claims["name"] == nil)
    }
  }

  @Test(
    arguments: [
      (["code": "never-issued"], basic, "invalid_grant"), (["redirect_uri": callback + "/"], basic, "invalid_grant"),
      (["redirect_uri": nil], basic, "invalid_grant"), (["code_verifier": "wrong"], basic, "invalid_grant"),
      (["code_verifier": nil], basic, "invalid_grant"), (["code": nil], basic, "invalid_request"),
      (["client_id": "other"], basic, "invalid_client"), (["client_secret": "x"], basic, "invalid_request"),
      ([:], nil, "invalid_client"), ([:], "Basic eDp5", "invalid_client"),
      (["client_id": clientID, "client_secret": "wrong"], nil, "invalid_client"),
      (["grant_type": "password"], basic, "unsupported_grant_type"),
    ] as [([String: String?], String?, String)])
  func `Wrong exchange is refused and leaves the code`(
    changes: [String: String?], authorization: String?, error: String
  ) async throws {
    try await Bench.run { bench in
      let code = try await bench.leadsBack("/oidc/authorize", Self.codeFlow)["code"]
      let refused = try await exchange(bench, code, changes, authorization: authorization)
      #expect(refused.status == (error == "invalid_client" ? 401 : 400))
      #expect(try bench.members(refused.response.body)["error"] == .text(error))
      #expect(try await exchange(bench, code).status == 200)
    }
  }

  @Test func `Code counts once and for ten minutes`() async throws {
    try await Bench.run { bench in
      let first = try await bench.leadsBack("/oidc/authorize", Self.codeFlow)["code"]
      let late = try await bench.leadsBack("/oidc/authorize", Self.codeFlow)["code"]
      #expect(try await exchange(bench, first).status == 200)
      #expect(try await exchange(bench, first).status == 400)
      bench.clock.advance(by: .seconds(600))
      #expect(try await exchange(bench, late).status == 400)
    }
  }

  @Test func `Client proves itself as discovery says`() async throws {
    try await Bench.run { bench in
      let post = ["client_id": Self.clientID, "client_secret": "simulated-client-secret"]
      var code = try await bench.leadsBack("/oidc/authorize", Self.codeFlow)["code"]
      #expect(try await exchange(bench, code, post, authorization: nil).status == 200)
      let order = #"{"token_endpoint_auth_methods_supported":["client_secret_post"],"userinfo_endpoint":null}"#
      #expect(try await bench.control("POST", "/oidc/metadata", order).status == 201)
      #expect(try await bench.members("/oidc/.well-known/openid-configuration")["userinfo_endpoint"] == nil)
      code = try await bench.leadsBack("/oidc/authorize", Self.codeFlow)["code"]
      #expect(try await exchange(bench, code).status == 401)
      #expect(try await exchange(bench, code, post, authorization: nil).status == 200)
      _ = try await bench.control("DELETE", "/identities")
      #expect(try await bench.members("/oidc/.well-known/openid-configuration")["userinfo_endpoint"] != nil)
      #expect(try await bench.control("POST", "/oidc/metadata", "[]").status == 400)
    }
  }

  @Test(arguments: [["client_id": "other"], ["redirect_uri": callback + "/"], ["redirect_uri": nil]])
  func `Nobody is led back where the address cannot be trusted`(changes: [String: String?]) async throws {
    try await Bench.run { bench in
      let answer = try await bench.send("GET", bench.address("/oidc/authorize", Self.codeFlow, changes))
      #expect(answer.status == 400)
      #expect(answer.response.headers["Location"] == nil)
    }
  }

  @Test(
    arguments: [
      (["scope": "email"], "invalid_scope"), (["scope": nil], "invalid_scope"),
      (["response_type": "code other"], "unsupported_response_type"),
      (["response_type": nil], "unsupported_response_type"),
      (["response_mode": "other"], "invalid_request"), (["code_challenge_method": "plain"], "invalid_request"),
      (["response_type": "id_token", "response_mode": "query"], "invalid_request"),
    ] as [([String: String?], String)])
  func `Refusal is led back`(changes: [String: String?], error: String) async throws {
    try await Bench.run { bench in
      let back = try await bench.leadsBack("/oidc/authorize", Self.codeFlow, changes)
      #expect(back["error"] == error)
      #expect(back["state"] == "s")
      #expect(back["code"] == nil)
    }
  }

  @Test func `Implicit flow puts the tokens behind the address or into a form`() async throws {
    try await Bench.run { bench in
      let changes: [String: String?] = ["response_type": "id_token token", "code_challenge": nil]
      let location = try await bench.send("GET", bench.address("/oidc/authorize", Self.codeFlow, changes))
      let parts = (location.response.headers["Location"] ?? "").split(separator: "#")
      #expect(parts.first.map(String.init) == Self.callback)
      let fields = FormEncoding.decode((parts.last ?? "").utf8)
      #expect(Set(fields.map(\.name)) == ["access_token", "token_type", "expires_in", "id_token", "state", "iss"])
      let idToken = try #require(fields.first { $0.name == "id_token" }?.value)
      #expect(try await bench.claims(idToken, "/oidc/keys")["nonce"] == "n")
      let form = try await bench.send(
        "GET",
        bench.address(
          "/oidc/authorize", Self.codeFlow,
          ["response_type": "id_token", "response_mode": "form_post", "state": "\"<&>"]))
      #expect(form.status == 200)
      #expect(form.text.contains(#"name="state" value="&quot;&lt;&amp;&gt;""#))
    }
  }

  @Test(arguments: [#""signature":"none""#, #""signature":"HS256""#, #""signature":"foreign""#, #""keyID":"unknown""#])
  func `Token is signed as wrongly as ordered`(fault: String) async throws {
    try await Bench.run { bench in
      try await bench.consents("oidc", "{\"clientID\":\"simulated-client\",\"subject\":\"1\",\(fault)}")
      let back = try await bench.leadsBack("/oidc/authorize", Self.codeFlow)
      let tokens = try bench.members(try await exchange(bench, back["code"]).response.body)
      let token = try #require(tokens["id_token"]?.text)
      await #expect(throws: JOSEError.self) { try await bench.claims(token, "/oidc/keys") }
    }
  }

  @Test func `User is as ordered and refuses as ordered`() async throws {
    try await Bench.run { bench in
      let user = #""clientID":"other","subject":"1","nonce":"","issuer":"https://evil.example","userinfoSubject":"2""#
      try await bench.consents("oidc", "{\(user)}")
      try await bench.consents("oidc", "{\(user),\"error\":\"access_denied\"}")
      let back = try await bench.leadsBack("/oidc/authorize", Self.codeFlow)
      #expect(back["iss"] == "https://evil.example")
      let tokens = try bench.members(try await exchange(bench, back["code"]).response.body)
      let claims = try await bench.claims(try #require(tokens["id_token"]?.text), "/oidc/keys")
      #expect(claims["aud"] == "other")
      #expect(claims["iss"] == "https://evil.example")
      #expect(claims["nonce"] == nil)
      let bearer: HTTPHeaders = ["Authorization": "Bearer \(try #require(tokens["access_token"]?.text))"]
      #expect(try await bench.members("/oidc/userinfo", bearer)["sub"] == "2")
      #expect(try await bench.leadsBack("/oidc/authorize", Self.codeFlow)["error"] == "access_denied")
      // The next is somebody else.
      #expect(try await bench.leadsBack("/oidc/authorize", Self.codeFlow)["code"] != nil)
      #expect(try await bench.control("POST", "/oidc/users", #"{"subject":"1"}"#).status == 400)
    }
  }

  @Test func `User may be for one request alone`() async throws {
    try await Bench.run { bench in
      let order = #"{"clientID":"simulated-client","subject":"1","error":"access_denied","loginHint":"h"}"#
      try await bench.consents("oidc", order)
      #expect(try await bench.leadsBack("/oidc/authorize", Self.codeFlow)["error"] == nil)
      let hinted = try await bench.leadsBack("/oidc/authorize", Self.codeFlow, ["login_hint": "h"])
      #expect(hinted["error"] == "access_denied")
    }
  }

  @Test func `What a page was asked is shown`() async throws {
    try await Bench.run { bench in
      _ = try await bench.leadsBack("/oidc/authorize", Self.codeFlow, ["login_hint": "a@example.com", "state": "t"])
      _ = try await bench.leadsBack("/oidc/authorize", Self.codeFlow)
      let shown = try await bench.control("GET", "/authorizations?state=t")
      #expect(shown.text.hasPrefix(#"[{"provider":"oidc-page","parameters":{"#))
      #expect(shown.text.contains(#""login_hint":"a@example.com""#))
      #expect(!shown.text.contains(#""state":"s""#))
    }
  }

  @Test func `Discovery is larger than anybody reads`() async throws {
    try await Bench.run { bench in
      _ = try await bench.control("POST", "/faults", #"{"provider":"oidc-discovery","fault":"huge"}"#)
      let path = "/oidc/.well-known/openid-configuration"
      #expect(try await bench.send("GET", path).response.body.count > 16 << 20)
      #expect(try await bench.send("GET", path).response.body.count < 4_096)
    }
  }

  // MARK: Apple, Google, Facebook

  @Test func `Apple posts the name once and only by a form`() async throws {
    try await Bench.run { bench in
      let asked = [
        "client_id": "com.example.web", "redirect_uri": Self.callback, "response_type": "code", "state": "s",
        "scope": "name email", "nonce": "n", "response_mode": "form_post",
      ]
      let order = #"{"clientID":"com.example.web","subject":"001.a","email":"a@example.com","name":"Ada Love Lace"}"#
      for _ in 0..<2 { try await bench.consents("apple", order) }
      let first = try await bench.send("GET", bench.address("/auth/authorize", asked))
      let user = #"{"name":{"firstName":"Ada","lastName":"Love Lace"},"email":"a@example.com"}"#
      #expect(bench.inputs(first)["user"] == user)
      let second = bench.inputs(try await bench.send("GET", bench.address("/auth/authorize", asked)))
      #expect(second["user"] == nil)
      let refused = try await bench.leadsBack("/auth/authorize", asked, ["response_mode": "query"])
      #expect(refused["error"] == "invalid_request")
      let exchanged = try await bench.appleID(
        "token", ["code": second["code"], "redirect_uri": Self.callback], client: "com.example.web")
      let tokens = try bench.members(exchanged.response.body)
      #expect(tokens["refresh_token"] != nil)
      let claims = try await bench.claims(try #require(tokens["id_token"]?.text), "/auth/keys")
      #expect(claims["sub"] == "001.a")
      #expect(claims["nonce"] == "n")
      #expect(claims["name"] == nil)
    }
  }

  @Test func `Google exchanges the codes of its page`() async throws {
    try await Bench.run { bench in
      let asked = [
        "client_id": "web", "redirect_uri": Self.callback, "response_type": "code", "scope": "openid email",
        "state": "s",
      ]
      try await bench.consents("google", #"{"clientID":"web","subject":"2","email":"b@gmail.com","name":"Bo"}"#)
      let back = try await bench.leadsBack("/o/oauth2/v2/auth", asked)
      let fields: [String: String?] = [
        "grant_type": "authorization_code", "code": back["code"], "redirect_uri": Self.callback, "client_id": "web",
        "client_secret": "google-secret",
      ]
      #expect(try await bench.form("/token", fields.merging(["client_secret": "x"]) { $1 }).status == 401)
      let tokens = try bench.members(try await bench.form("/token", fields).response.body)
      let claims = try await bench.claims(try #require(tokens["id_token"]?.text), "/oauth2/v3/certs")
      #expect(claims["email"] == "b@gmail.com")
      #expect(claims["name"] == nil)
      let bearer: HTTPHeaders = ["Authorization": "Bearer \(try #require(tokens["access_token"]?.text))"]
      #expect(try await bench.members("/v1/userinfo", bearer)["sub"] == "2")
    }
  }

  @Test func `Facebook exchanges the codes of its page`() async throws {
    try await Bench.run { bench in
      let asked = ["client_id": "1234567890123456", "redirect_uri": Self.callback, "scope": "email", "state": "s"]
      try await bench.consents("facebook", #"{"appID":"1234567890123456","subject":"3","email":"c@example.com"}"#)
      let back = try await bench.leadsBack("/v23.0/dialog/oauth", asked)
      let query: [String: String?] = [
        "code": back["code"], "redirect_uri": Self.callback, "client_id": "1234567890123456",
      ]
      let exchange = "/v23.0/oauth/access_token?" + String(decoding: bench.encode(query), as: UTF8.self)
      try await bench.expectGraphError(1, exchange + "&client_secret=wrong")
      let path = exchange + "&client_secret=simulated-facebook-app-secret"
      let tokens = try await bench.members(path)
      #expect(tokens["id_token"] == nil)
      let token = try #require(tokens["access_token"]?.text)
      let debug =
        "/v23.0/debug_token?input_token=\(token)&access_token=1234567890123456%7Csimulated-facebook-app-secret"
      #expect(try await bench.members(debug)["data"]?.members?["user_id"] == "3")
      try await bench.expectGraphError(100, path)
    }
  }
}

extension Bench {
  fileprivate func consents(_ provider: String, _ order: String) async throws {
    let answer = try await control("POST", "/\(provider)/users", order)
    #expect(answer.status == 201)
  }

  fileprivate func address(_ path: String, _ asked: [String: String], _ changes: [String: String?] = [:]) -> String {
    path + "?" + String(decoding: encode(asked.mapValues(Optional.some).merging(changes) { $1 }), as: UTF8.self)
  }

  /// Parameters of the address that a page leads back to.
  fileprivate func leadsBack(
    _ path: String, _ asked: [String: String], _ changes: [String: String?] = [:]
  ) async throws -> [String: String] {
    let answer = try await send("GET", address(path, asked, changes))
    #expect(answer.status == 302)
    let parts = (answer.response.headers["Location"] ?? "").split(separator: "?", maxSplits: 1)
    #expect(parts.first.map(String.init) == PageTests.callback)
    let fields = FormEncoding.decode((parts.last ?? "").utf8)
    return Dictionary(fields.map { ($0.name, $0.value) }) { $1 }
  }

  /// Fields of a form that submits itself.
  fileprivate func inputs(_ answer: Answer) -> [String: String] {
    let found = answer.text.matches(of: /name="([^"]*)" value="([^"]*)"/)
    return Dictionary(found.map { (String($0.1), String($0.2).replacing("&quot;", with: "\"")) }) { $1 }
  }

  fileprivate func form(
    _ path: String, _ fields: [String: String?], _ authorization: String? = nil
  ) async throws -> Answer {
    var headers: HTTPHeaders = ["Content-Type": "application/x-www-form-urlencoded"]
    if let authorization { headers.add(name: "Authorization", value: authorization) }
    return try await send("POST", path, headers: headers, body: encode(fields))
  }
}
