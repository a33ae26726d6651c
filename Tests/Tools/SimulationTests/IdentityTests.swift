import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPClient
import TestSupport
import Testing

/// Apple's, Google's and Facebook's users: ID tokens, the keys of them, access tokens.
@Suite(.timeLimit(.minutes(10)))
struct IdentityTests {
  private static let keySets = [
    "apple": "/auth/keys", "google": "/oauth2/v3/certs", "facebook": "/.well-known/oauth/openid/jwks/",
  ]
  private static let secret = "simulated-facebook-app-secret"
  private static let appToken = "1234567890123456%7C\(secret)"

  // MARK: ID tokens

  @Test func `Apple signs an ID token with a published key`() async throws {
    try await Bench.run { bench in
      let issued = try await bench.issue(
        "apple/id-tokens",
        #"{"clientID":"com.example.app","subject":"001.a","nonce":"n","email":"a@privaterelay.appleid.com"}"#)
      let now = bench.clock.now().seconds
      let expected: [String: JSONValue] = [
        "iss": .text("https://appleid.apple.com"), "aud": .text("com.example.app"), "sub": .text("001.a"),
        "iat": .integer(now), "exp": .integer(now + 86_400), "auth_time": .integer(now), "nonce": .text("n"),
        "email": .text("a@privaterelay.appleid.com"), "email_verified": .bool(true), "is_private_email": .bool(true),
        "nonce_supported": .bool(true),
      ]
      #expect(try await bench.claims(issued.idToken, "/auth/keys") == expected)
    }
  }

  @Test func `ID token is as it was ordered`() async throws {
    try await Bench.run { bench in
      let order = """
        {"clientID":"com.example.other","subject":"1","email":"a@example.com","emailVerified":false,"isPrivateEmail":true,
         "textBooleans":true,"nonceSupported":false,"issuer":"https://account.apple.com","issuedAt":1000,"expiresIn":-5}
        """
      let claims = try await bench.claims(try await bench.issue("apple/id-tokens", order).idToken, "/auth/keys")
      let expected: [String: JSONValue] = [
        "iss": .text("https://account.apple.com"), "aud": .text("com.example.other"), "sub": .text("1"),
        "iat": .integer(1000), "exp": .integer(995), "auth_time": .integer(1000), "email": .text("a@example.com"),
        "email_verified": .text("false"), "is_private_email": .text("true"), "nonce_supported": .bool(false),
      ]
      #expect(claims == expected)
    }
  }

  @Test func `A notification of Apple is signed as ID tokens are, or forged`() async throws {
    try await Bench.run { bench in
      let order = #"{"clientID":"com.example.app","type":"consent-revoked","subject":"001.a","happenedAt":5,"id":"j"}"#
      let claims = try await bench.claims(try await bench.notice(order), "/auth/keys")
      #expect(claims["jti"] == .text("j") && claims["aud"] == .text("com.example.app"))
      let event = try JSONValue(parsing: Array(try #require(claims["events"]?.text).utf8))
      #expect(event == ["type": "consent-revoked", "sub": "001.a", "event_time": 5])
      let forged = order.replacing(#""id""#, with: #""forged":true,"id""#)
      let other = try await bench.notice(forged)
      await #expect(throws: JOSEError.self) { try await bench.claims(other, "/auth/keys") }
    }
  }

  @Test func `Google and Facebook sign theirs`() async throws {
    try await Bench.run { bench in
      let google = try await bench.issue(
        "google/id-tokens",
        #"{"clientID":"web","azp":"ios","subject":"2","email":"b@gmail.com","hd":"example.com","name":"Bo B","picture":"p"}"#
      )
      var claims = try await bench.claims(google.idToken, "/oauth2/v3/certs")
      #expect(claims["iss"] == .text("https://accounts.google.com"))
      #expect(claims["azp"] == .text("ios"))
      #expect(claims["hd"] == .text("example.com"))
      #expect(claims["given_name"] == .text("Bo"))
      let facebook = try await bench.issue(
        "facebook/access-tokens", #"{"appID":"1234567890123456","subject":"3","nonce":"n","name":"Cy"}"#)
      claims = try await bench.claims(facebook.idToken, "/.well-known/oauth/openid/jwks/")
      #expect(claims["iss"] == .text("https://limited.facebook.com"))
      #expect(claims["aud"] == .text("1234567890123456"))
      #expect(claims["nonce"] == .text("n"))
      #expect(claims["family_name"] == nil)
    }
  }

  @Test(arguments: [#""keyID":"unknown""#, #""signature":"none""#, #""signature":"HS256""#, #""signature":"foreign""#])
  func `No published key verifies a token that is ordered wrong`(fault: String) async throws {
    try await Bench.run { bench in
      let issued = try await bench.issue("apple/id-tokens", "{\"clientID\":\"a\",\"subject\":\"1\",\(fault)}")
      await #expect(throws: JOSEError.self) { try await bench.claims(issued.idToken, "/auth/keys") }
    }
  }

  @Test func `Authorization code tells its user`() async throws {
    try await Bench.run { bench in
      struct Exchanged: Decodable { let idToken: String }
      let code = try await bench.code(#","subject":"001.b","email":"b@example.com""#)
      let tokens: Exchanged = try await bench.appleID("token", ["code": code]).decoded()
      let claims = try await bench.claims(tokens.idToken, "/auth/keys")
      #expect(claims["sub"] == .text("001.b"))
      #expect(claims["aud"] == .text("com.example.app"))
      #expect(claims["email"] == .text("b@example.com"))
      let other: Exchanged = try await bench.appleID("token", ["code": try await bench.code()]).decoded()
      let others = try await bench.claims(other.idToken, "/auth/keys")
      #expect(others["sub"] != .text("001.b"))
    }
  }

  @Test(
    arguments: [
      "{}", #"{"clientID":"a"}"#, #"{"clientID":"a","subject":""}"#, #"{"clientID":"a","subject":"1","hd":"x"}"#,
      #"{"clientID":"a","subject":"1","signature":"ES256"}"#, #"{"clientID":"a","subject":"1","expiresIn":1e15}"#,
      #"{"clientID":"a","subject":"1","emailVerified":"true"}"#,
    ])
  func `Wrong order for a token is refused`(order: String) async throws {
    try await Bench.run { bench in
      let answer = try await bench.control("POST", "/apple/id-tokens", order)
      #expect(answer.status == 400)
    }
  }

  // MARK: Keys

  @Test(arguments: ["apple", "google", "facebook"])
  func `Keys rotate`(provider: String) async throws {
    try await Bench.run { bench in
      let path = try #require(Self.keySets[provider])
      let old = try await bench.keyIDs(path)
      #expect(old.count == 1)
      let kept = try await bench.rotate(provider, #"{"rotate":true,"keepOld":true}"#)
      #expect(kept.prefix(1) == old[...])
      let both = try await bench.keyIDs(path)
      #expect(both.count == 2)
      let new = try await bench.rotate(provider, #"{"rotate":true,"strangers":3}"#)
      let ids = try await bench.keyIDs(path)
      #expect(ids.count == 4)
      #expect(ids.suffix(1) == new[...])
      #expect(Set(ids).isDisjoint(with: both))
      #expect(try await bench.control("POST", "/\(provider)/keys", #"{"strangers":2001}"#).status == 400)
    }
  }

  @Test func `Keys vanish and come slowly`() async throws {
    try await Bench.run { bench in
      _ = try await bench.control("POST", "/faults", #"{"provider":"apple-keys","fault":404}"#)
      #expect(try await bench.send("GET", "/auth/keys").status == 404)
      _ = try await bench.control("POST", "/faults", #"{"provider":"apple-keys","fault":"latency","delaySeconds":0.2}"#)
      let begin = ContinuousClock.now
      #expect(try await bench.send("GET", "/auth/keys").status == 200)
      #expect(ContinuousClock.now - begin >= .milliseconds(200))
      #expect(try await bench.send("POST", "/auth/keys").status == 405)
      let google = try await bench.send("GET", "/oauth2/v3/certs")
      #expect(google.response.headers["Cache-Control"]?.contains("max-age=") == true)
    }
  }

  // MARK: Access tokens

  @Test func `Google tells the user of an access token`() async throws {
    try await Bench.run { bench in
      let token = try #require(
        try await bench.issue(
          "google/id-tokens", #"{"clientID":"web","subject":"2","email":"b@gmail.com","name":"Bo B"}"#
        ).accessToken)
      let info = try await bench.members("/tokeninfo?access_token=\(token)")
      #expect(info["aud"] == .text("web"))
      #expect(info["exp"] == .text(String(bench.clock.now().seconds + 3_600)))
      #expect(info["email_verified"] == .text("true"))
      let bearer: HTTPHeaders = ["Authorization": "Bearer \(token)"]
      let user = try await bench.members("/v1/userinfo", bearer)
      #expect(user["sub"] == .text("2"))
      #expect(user["email_verified"] == .bool(true))
      #expect(user["family_name"] == .text("B"))
      bench.clock.advance(by: .seconds(3_600))
      #expect(try await bench.send("GET", "/tokeninfo?access_token=\(token)").status == 400)
      #expect(try await bench.send("GET", "/v1/userinfo", headers: bearer).status == 401)
      #expect(try await bench.send("GET", "/v1/userinfo").status == 401)
    }
  }

  @Test func `Facebook tells the user of its app's token to those who prove the secret`() async throws {
    try await Bench.run { bench in
      let token = try #require(
        try await bench.issue(
          "facebook/access-tokens",
          #"{"appID":"1234567890123456","subject":"3","name":"Cy Young","email":"c@example.com","picture":"https://e.com/p"}"#
        ).accessToken)
      let data = try #require(
        try await bench.members("/v23.0/debug_token?input_token=\(token)&access_token=\(Self.appToken)")["data"]?
          .members)
      #expect(data["app_id"] == .text("1234567890123456"))
      #expect(data["is_valid"] == .bool(true))
      #expect(data["user_id"] == .text("3"))
      #expect(data["type"] == .text("USER"))
      let proof = Hexadecimal.encode(HMACSHA256.authenticate(Array(token.utf8), key: Array(Self.secret.utf8)))
      let me = "/v23.0/me?access_token=\(token)&appsecret_proof="
      let user = try await bench.members(me + proof + "&fields=id,name,first_name,email,picture")
      #expect(Set(user.keys) == ["id", "name", "first_name", "email", "picture"])
      #expect(user["picture"]?.members?["data"]?.members?["url"] == .text("https://e.com/p"))
      try await bench.expectGraphError(100, me + proof.reversed())
      try await bench.expectGraphError(100, "/v23.0/me?access_token=\(token)")
      bench.clock.advance(by: .seconds(5_184_000))
      try await bench.expectGraphError(190, me + proof)
      let late = try await bench.members("/v23.0/debug_token?input_token=\(token)&access_token=\(Self.appToken)")
      #expect(late["data"]?.members?["is_valid"] == .bool(false))
    }
  }

  @Test func `Facebook refuses what is not the app's`() async throws {
    try await Bench.run { bench in
      let foreign = try #require(
        try await bench.issue("facebook/access-tokens", #"{"appID":"77","subject":"3"}"#).accessToken)
      let debug = "/v23.0/debug_token?input_token="
      try await bench.expectGraphError(100, debug + foreign + "&access_token=\(Self.appToken)")
      try await bench.expectGraphError(190, debug + foreign + "&access_token=1234567890123456%7Cwrong")
      try await bench.expectGraphError(190, "/v23.0/me?access_token=garbage")
      try await bench.expectGraphError(2500, "/v23.0/them?access_token=garbage")
      let unknown = try await bench.members(debug + "garbage&access_token=\(Self.appToken)")
      #expect(unknown["data"]?.members?["is_valid"] == .bool(false))
    }
  }
}

extension Bench {
  struct Issued: Decodable {
    let idToken: String
    let accessToken: String?
  }

  func issue(_ path: String, _ order: String) async throws -> Issued {
    let answer = try await control("POST", "/\(path)", order)
    #expect(answer.status == 201)
    return try answer.decoded()
  }

  func notice(_ order: String) async throws -> String {
    struct Notice: Decodable { let payload: String }
    return try await control("POST", "/apple/notifications", order).decoded(Notice.self).payload
  }

  /// The claims of a token that one of the published keys has signed.
  func claims(_ token: String, _ path: String) async throws -> [String: JSONValue] {
    let keys = try await keys(path).map { try VerifyingKey(jwk: Array($0.json().utf8)) }
    var payload: [UInt8]?
    for key in keys.dropLast() { payload = payload ?? (try? JWS.verify(token, with: key).payload) }
    let last = try #require(keys.last)
    return try members(payload ?? JWS.verify(token, with: last).payload)
  }

  func keyIDs(_ path: String) async throws -> [String] {
    try await keys(path).compactMap { $0.members?["kid"]?.text }
  }

  func rotate(_ provider: String, _ order: String) async throws -> [String] {
    struct Keys: Decodable { let keyIDs: [String] }
    return try await control("POST", "/\(provider)/keys", order).decoded(Keys.self).keyIDs
  }

  func members(_ path: String, _ headers: HTTPHeaders = [:]) async throws -> [String: JSONValue] {
    let answer = try await send("GET", path, headers: headers)
    #expect(answer.status == 200)
    return try members(answer.response.body)
  }

  func expectGraphError(_ code: Int64, _ path: String) async throws {
    let answer = try await send("GET", path)
    #expect(answer.status == 400)
    #expect(try members(answer.response.body)["error"]?.members?["code"] == .integer(code))
  }

  private func keys(_ path: String) async throws -> [JSONValue] {
    guard case .array(let keys) = try await members(path)["keys"] else { return [] }
    return keys
  }

  func members(_ json: [UInt8]) throws -> [String: JSONValue] {
    try #require(try JSONReader(maxBytes: 1_000_000).value(of: json).members)
  }
}
