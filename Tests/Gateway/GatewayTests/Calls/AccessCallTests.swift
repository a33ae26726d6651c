import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Gateway

@Suite struct AccessCallTests {
  private static let token = "/oauth2.googleapis.com/token"
  private static let bearer = "ya29.token"
  private static let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=eyJ.a.b"

  @Test func `An assertion brings an access token`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(GrantAccess.self) { command, asked in
      #expect(try asked.open(command.assertion) == "eyJ.a.b")
      return AccessGranted(accessToken: try asked.seal("ya29.token", to: command.replyKey), expiresIn: 3600)
    }
    let answer = try await fixture.post(Self.token, form: Self.grant)
    #expect(answer == ["access_token": "ya29.token", "expires_in": 3600, "token_type": "Bearer"])
  }

  @Test(
    arguments: [
      (grant, "invalid_grant"), ("grant_type=password", "unsupported_grant_type"), ("", "invalid_request"),
      (grant.replacing("eyJ.a.b", with: ""), "invalid_request"),
    ])
  func `Errors of the token endpoint are those of OAuth`(form: String, code: String) async throws {
    let broker = FakeBroker { _, message in
      try FakeBroker.refusal(APIError(.invalidGrant, "secret reason", field: "assertion"), to: message)
    }
    let gateway = try GatewayBench(broker) { rules, connection in
      AccessCalls(backend: Backend(rules: rules, broker: connection, misconfigurations: .quiet)).routes
    }
    let answer = try await gateway.send(
      "POST", Self.token, headers: [("Content-Type", "application/x-www-form-urlencoded")], body: Array(form.utf8))
    #expect(answer.status == 400 && answer["error"]?.text == code)
    #expect(answer["error_description"]?.text?.isEmpty == false && !answer.text.contains("secret reason"))
  }

  @Test(
    arguments: [CallFixture.v1 + "projects/example:createSessionCookie", CallFixture.v3 + "createSessionCookie"])
  func `A session cookie is made for an ID token`(path: String) async throws {
    let fixture = try CallFixture()
    fixture.services.on(CreateSessionCookie.self) { command, asked in
      #expect(try asked.open(command.idToken) == "eyJ.a.b" && asked.open(ifAny: command.bearer) == Self.bearer)
      #expect(command.validFor == 300 || command.validFor == 1_209_600)
      return SessionCookieCreated(cookie: try asked.seal("cookie", to: command.replyKey))
    }
    for json in [#"{"idToken":"eyJ.a.b","validDuration":"300"}"#, #"{"idToken":"eyJ.a.b"}"#] {
      #expect(try await fixture.post(path, json, bearer: Self.bearer) == ["sessionCookie": "cookie"])
    }
    #expect(try await fixture.refusal(path, "{}", bearer: Self.bearer).message == "MISSING_ID_TOKEN")
  }

  @Test func `Settings are shown and changed, as far as the mask names them`() async throws {
    let fixture = try CallFixture(isDevelopment: true)
    fixture.services.on(ProjectSettingsCommand.self) { command, asked in
      let bearer = try asked.open(ifAny: command.bearer)
      #expect(bearer == "owner" || bearer == Self.bearer)
      return ProjectSettingsFound(
        allowsDuplicateEmails: command.allowsDuplicateEmails ?? false,
        protectsAddresses: command.protectsAddresses ?? true)
    }
    let path = CallFixture.v2 + "projects/example/config"
    let shown = try await fixture.get(path, bearer: Self.bearer)
    #expect(
      shown == [
        "name": "projects/example/config", "signIn": ["allowDuplicateEmails": false],
        "emailPrivacyConfig": ["enableImprovedEmailPrivacy": true],
      ])
    let json = #"{"signIn":{"allowDuplicateEmails":true},"emailPrivacyConfig":{"enableImprovedEmailPrivacy":false}}"#
    let body = try CallBody(json: Array(json.utf8))
    for (mask, duplicates, protects) in [
      ("", true, false), ("updateMask=signIn", true, true), ("updateMask=signIn.allowDuplicateEmails", true, true),
      ("updateMask=emailPrivacyConfig", false, false),
    ] {
      let query = try CallBody(encoded: Array(mask.utf8), maxFields: 4)
      let answer = try await fixture.call(path, .patch, query: query, body: body, bearer: Self.bearer)
      #expect(answer["signIn"] == ["allowDuplicateEmails": .bool(duplicates)], "\(mask)")
      #expect(answer["emailPrivacyConfig"] == ["enableImprovedEmailPrivacy": .bool(protects)], "\(mask)")
    }
    let emulator = try await fixture.call("/emulator/v1/projects/example/config", .patch, body: body)
    #expect(emulator.names == ["signIn", "emailPrivacyConfig"])
  }

  @Test func `Keys of session cookies are shown as certificates and as a set`() async throws {
    let fixture = try CallFixture()
    fixture.services.on(GetKeys.self) { _, _ in
      let key = KeysPublished.Key(id: "k1", n: "m", e: "AQAB", certificate: "-----BEGIN")
      let cookieKey = KeysPublished.Key(id: "c1", n: "m", e: "AQAB", certificate: "-----BEGIN")
      var keys = KeysPublished(keys: [key], maxAge: 3600, publishedAt: CallFixture.now)
      keys.cookieKeys = [cookieKey]
      return keys
    }
    #expect(try await fixture.get(CallFixture.v3 + "publicKeys") == ["c1": "-----BEGIN"])
    #expect(try await fixture.get(CallFixture.v1 + "sessionCookiePublicKeys")["keys"]?[0]?["kid"] == "c1")
  }
}

extension MisconfigurationLog {
  static var quiet: MisconfigurationLog {
    let sink = MemorySink()
    return MisconfigurationLog(
      metrics: GatewayMetrics(MetricsRegistry()), logger: Logger(label: "gateway", level: .error, sink: sink),
      clock: SystemMonotonicClock())
  }
}
