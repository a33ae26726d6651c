import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Synchronization
import TestSupport
import Testing

@testable import Gateway

@Suite struct ProviderConfigurationCallTests {
  private static let path = CallFixture.v2 + "projects/example/oauthIdpConfigs"
  private static let one = path + "/oidc.example"
  private static let bearer = "ya29.token"
  private static let name = "projects/example/oauthIdpConfigs/oidc.example"

  private static func view(_ id: String = "oidc.example") -> ProviderView {
    var view = ProviderView(
      providerID: id, issuer: "https://id.example.com",
      clients: [
        ProviderView.Client(clientID: "a", hasSecret: true), ProviderView.Client(clientID: "b", hasSecret: true),
      ], enabled: true, usesCodeFlow: true, isFromFile: false)
    view.clients[1].platform = "ios"
    view.displayName = "Example"
    return view
  }

  private static let shown: JSONValue = [
    "name": .text(name), "clientId": "a", "issuer": "https://id.example.com", "displayName": "Example",
    "enabled": true, "responseType": ["code": true],
  ]

  /// Fields of the commands that accounts got, and what it answers: the provider.
  private final class Accounts: Sendable {
    let fixture: CallFixture
    let fields = Mutex<[OpenIDFields]>([])
    let acts = Mutex<[SetProvider]>([])

    init() throws {
      fixture = try CallFixture()
      fixture.services.on(FindProviders.self) { command, asked throws in
        #expect(try asked.open(ifAny: command.bearer) == ProviderConfigurationCallTests.bearer)
        return ProvidersFound(providers: [view()])
      }
      fixture.services.on(SetProvider.self) { [self] command, asked in
        #expect(try asked.open(ifAny: command.bearer) == ProviderConfigurationCallTests.bearer)
        acts.withLock { $0.append(command) }
        guard let text = try asked.open(ifAny: command.fields) else { return ProvidersFound(providers: []) }
        let opened = try OpenIDFields(text: Secret(text))
        fields.withLock { $0.append(opened) }
        return ProvidersFound(providers: [view()])
      }
    }

    func call(
      _ path: String, _ method: Route.Method, _ query: String = "", _ json: String = "{}"
    ) async throws -> JSONValue {
      try await fixture.call(
        path, method, query: CallBody(encoded: Array(query.utf8), maxFields: 4), body: CallBody(json: Array(json.utf8)),
        bearer: ProviderConfigurationCallTests.bearer)
    }

    func refusal(
      _ path: String, _ method: Route.Method, _ query: String = "", _ json: String = "{}"
    ) async throws -> ProtocolError {
      try #require(
        await #expect(throws: ProtocolError.self) { _ = try await self.call(path, method, query, json) })
    }
  }

  @Test func `A provider is made with the fields of the call`() async throws {
    let accounts = try Accounts()
    let json = """
      {"clientId":"a","issuer":"https://id.example.com","displayName":"Example","enabled":true,"clientSecret":"s",
       "responseType":{"idToken":false,"code":true}}
      """
    #expect(try await accounts.call(Self.path, .post, "oauthIdpConfigId=oidc.example", json) == Self.shown)
    let fields = try #require(accounts.fields.withLock { $0.first })
    #expect(fields.issuer == "https://id.example.com" && fields.displayName == "Example" && fields.enabled == true)
    #expect(fields.clients?.map(\.clientID) == ["a"] && fields.clients?.first?.secret == "s")
    #expect(fields.usesCodeFlow == true && accounts.acts.withLock { $0.map(\.act) } == [.create])
    _ = try await accounts.call(
      Self.path, .post, "oauthIdpConfigId=oidc.example", #"{"clientId":"a","issuer":"https://id.example.com"}"#)
    let least = try #require(accounts.fields.withLock { $0.last })
    #expect(least.usesCodeFlow == false && least.enabled == nil && least.clients?.first?.secret == nil)
  }

  @Test(
    arguments: [
      ("oauthIdpConfigId=google.com", "{}", "oauthIdpConfigId"), ("", "{}", "oauthIdpConfigId"),
      ("oauthIdpConfigId=oidc.a", "{}", "MISSING_OAUTH_CLIENT_ID"),
      ("oauthIdpConfigId=oidc.a", #"{"clientId":"a"}"#, "MISSING_ISSUER"),
    ])
  func `What a new provider lacks is named`(query: String, json: String, word: String) async throws {
    let error = try await Accounts().refusal(Self.path, .post, query, json)
    #expect(error.status == 400 && error.message.contains(word))
  }

  @Test func `One is shown without its secret, and all are listed page by page`() async throws {
    let accounts = try Accounts()
    #expect(try await accounts.call(Self.one, .get) == Self.shown)
    #expect(try await accounts.call(Self.path, .get, "pageSize=100") == ["oauthIdpConfigs": [Self.shown]])
    let asked = Mutex<[FindProviders]>([])
    accounts.fixture.services.on(FindProviders.self) { command, _ in
      asked.withLock { $0.append(command) }
      var found = ProvidersFound(providers: command.behind == nil ? [Self.view("oidc.a")] : [])
      found.hasMore = command.behind == nil ? true : nil
      return found
    }
    let first = try await accounts.call(Self.path, .get, "pageSize=1")
    #expect(first["nextPageToken"] == "oidc.a")
    #expect(try await accounts.call(Self.path, .get, "pageSize=500&pageToken=oidc.a").object.isEmpty)
    #expect(asked.withLock { $0.map(\.limit) } == [1, 100])
    #expect(asked.withLock { $0.map(\.behind) } == [nil, "oidc.a"])
    for query in ["pageSize=-1", "pageToken=x"] {
      #expect(try await accounts.refusal(Self.path, .get, query).status == 400)
    }
  }

  @Test func `A change takes what the mask names`() async throws {
    let accounts = try Accounts()
    func change(_ mask: String?, _ json: String) async throws -> OpenIDFields {
      #expect(try await accounts.call(Self.one, .patch, mask.map { "updateMask=\($0)" } ?? "", json) == Self.shown)
      return try #require(accounts.fields.withLock { $0.last })
    }
    let json = #"{"displayName":"B","enabled":false,"issuer":"https://b.example","responseType":{"code":true}}"#
    let all = try await change(nil, json)
    #expect(all.displayName == "B" && all.enabled == false && all.issuer == "https://b.example")
    #expect(all.usesCodeFlow == true && all.clients == nil)
    let named = try await change("displayName,responseType.idToken", #"{"responseType":{"idToken":true}}"#)
    #expect(named.displayName?.isEmpty == true && named.usesCodeFlow == false && named.enabled == nil)
    #expect(try await change("enabled", json).displayName == nil)
    #expect(try await change("enabled", #"{"displayName":null}"#).displayName == nil)
    let secret = try await change("clientSecret", #"{"clientSecret":"s2"}"#)
    #expect(secret.clients?.map(\.clientID) == ["a", "b"] && secret.clients?.map(\.secret) == ["s2", nil])
    #expect(secret.clients?.map(\.platform) == [nil, "ios"])
    #expect(try await change("clientId", #"{"clientId":"b"}"#).clients?.map(\.clientID) == ["b"])
    #expect(try await accounts.refusal(Self.one, .patch, "updateMask=name").status == 501)
  }

  @Test func `A removal answers nothing`() async throws {
    let accounts = try Accounts()
    #expect(try await accounts.call(Self.one, .delete).object.isEmpty)
    #expect(accounts.acts.withLock { $0.map(\.act) } == [.remove])
  }

  @Test(
    arguments: [
      (APIError(.invalidArgument, "x", field: "issuer"), 400, "issuer"),
      (APIError(.invalidArgument, "x", field: "clients"), 400, "clientId"),
      (APIError(.operationNotAllowed, "x", field: "providerID", reason: "PROVIDER_IN_FILE"), 400, "in a file"),
      (APIError(.configurationNotFound, "x", field: "providerID"), 404, "CONFIGURATION_NOT_FOUND"),
    ])
  func `Refusals of accounts are told`(error: APIError, status: Int, word: String) async throws {
    let accounts = try Accounts()
    accounts.fixture.services.refuse(SetProvider.self, error)
    let refusal = try await accounts.refusal(Self.one, .delete)
    #expect(refusal.status == status && refusal.message.contains(word))
  }
}
