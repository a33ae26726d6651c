import CountersignEncoding
import CountersignMessages
import FoundationEssentials
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import CommandLine

@Suite struct ProviderCommandTests {
  private static let issuer = "https://id.example.com"
  private static let returnAddress = "https://example.com/__/auth/handler"

  private static func view(_ change: (inout ProviderView) -> Void = { _ in }) -> ProviderView {
    var view = ProviderView(
      providerID: "oidc.example", issuer: issuer, clients: [ProviderView.Client(clientID: "a", hasSecret: true)],
      enabled: true, usesCodeFlow: true, isFromFile: false)
    change(&view)
    return view
  }

  private static let discovery: [String: JSONValue] = [
    "issuer": .text(issuer), "authorization_endpoint": "https://id.example.com/authorize",
    "token_endpoint": "https://id.example.com/token", "jwks_uri": "https://id.example.com/keys",
    "response_types_supported": .texts(["code", "id_token"]),
    "id_token_signing_alg_values_supported": .texts(["HS256", "RS256"]),
  ]

  private static func answer(_ value: JSONValue, status: Int = 200) -> HTTPProbeAnswer {
    HTTPProbeAnswer(status: status, body: Array(value.json().utf8))
  }

  private struct Probe: HTTPProbe {
    var discovery: [String: JSONValue] = ProviderCommandTests.discovery
    var keys: JSONValue = ["keys": [["kty": "RSA", "use": "sig"]]]
    var page = HTTPProbeAnswer(status: 200, body: [])
    let asked = Seen()

    func get(_ url: String) async throws(CommandLineError) -> HTTPProbeAnswer {
      switch url {
      case "https://id.example.com/.well-known/openid-configuration":
        return ProviderCommandTests.answer(.object(discovery))
      case "https://id.example.com/keys": return ProviderCommandTests.answer(keys)
      case _ where url.hasPrefix("https://id.example.com/authorize?"):
        asked.urls.withLock { $0.append(url) }
        return page
      default: throw CommandLineError(.unavailable, "connection refused")
      }
    }
  }

  private final class Seen: Sendable {
    let urls = Mutex<[String]>([])
  }

  private func findings(
    _ probe: Probe = Probe(), _ change: (inout ProviderView) -> Void = { _ in }
  ) async -> [Finding] {
    await ProviderFindings(view: Self.view(change), returnAddress: Self.returnAddress, probe: probe).all()
  }

  // MARK: Check

  @Test func `A provider that is right has nothing to name`() async {
    let probe = Probe()
    let found = await findings(probe) { $0.scopes = ["mail.read"] }
    #expect(found.allSatisfy { $0.status == .ok }, "\(found)")
    #expect(
      found.map(\.check) == [
        "provider", "issuer", "flow", "algorithms", "keys", "client authentication", "client a",
      ])
    let asked = probe.asked.urls.withLock { $0.first } ?? ""
    #expect(asked.contains("client_id=a&redirect_uri=https%3A%2F%2Fexample.com%2F__%2Fauth%2Fhandler"))
    #expect(asked.contains("response_type=code") && asked.contains("scope=openid%20mail.read"))
  }

  private func failure(
    _ check: String, _ status: Finding.Status = .failed, _ probe: (inout Probe) -> Void = { _ in },
    _ view: (inout ProviderView) -> Void = { _ in }
  ) async -> Bool {
    var changed = Probe()
    probe(&changed)
    let found = await findings(changed, view)
    return found.contains { $0.check == check && $0.status == status }
  }

  @Test func `Each fault is named`() async {
    #expect(await failure("issuer", .failed) { $0.discovery["issuer"] = "https://id.example.com/" })
    #expect(await failure("flow") { $0.discovery["response_types_supported"] = .texts(["id_token"]) })
    #expect(await failure("flow") { $0.discovery["token_endpoint"] = nil })
    #expect(await failure("flow", .warning, { _ in }, { $0.usesCodeFlow = false }))
    #expect(await failure("algorithms") { $0.discovery["id_token_signing_alg_values_supported"] = .texts(["HS256"]) })
    #expect(await failure("keys") { $0.keys = ["keys": [["kty": "oct"], ["kty": "RSA", "use": "enc"]]] })
    #expect(await failure("keys") { $0.discovery["jwks_uri"] = "https://nowhere.example" })
    #expect(await failure("keys") { $0.discovery["jwks_uri"] = nil })
    let methods = "token_endpoint_auth_methods_supported"
    #expect(await failure("client authentication") { $0.discovery[methods] = .texts(["private_key_jwt"]) })
    #expect(await failure("client authentication", .failed, { _ in }, { $0.clients[0].hasSecret = false }))
    #expect(
      await failure(
        "client authentication", .ok, { $0.discovery[methods] = .texts(["none"]) },
        { $0.clients[0].hasSecret = false }))
    #expect(await failure("client a") { $0.page = HTTPProbeAnswer(status: 400, body: []) })
    #expect(
      await failure("client a") {
        let location = "\(Self.returnAddress)?error=unauthorized_client&state=check"
        $0.page = HTTPProbeAnswer(status: 302, body: [], location: location)
      })
    #expect(await failure("provider", .warning, { _ in }, { $0.enabled = false }))
  }

  @Test func `A discovery that is not there ends the check`() async {
    let found = await ProviderFindings(
      view: Self.view { $0.issuer = "https://nowhere.example" }, returnAddress: nil, probe: Probe()
    ).all()
    #expect(found.map(\.check) == ["provider", "discovery"] && found.last?.status == .failed)
  }

  @Test func `The check tells, and its code says so`() async throws {
    let reply = JSONValue(encoding: ProvidersFound(providers: [Self.view()]))
    let probe = FakeProbe(answers: [
      "\(Self.issuer)/.well-known/openid-configuration": Self.answer(.object(Self.discovery)),
      "https://id.example.com/keys": Self.answer(["keys": [["kty": "EC", "crv": "P-256"]]]),
    ])
    let backend = FakeBackend(reply: .success(reply), probe: probe)
    let run = await Run(backend, "provider", "check", "oidc.example", "--project", "example")
    #expect(run.code == .success && run.output.contains("skipped client a"), "\(run.output) \(run.error)")
    #expect(backend.caFiles.withLock { $0 } == [nil])
    _ = await Run(backend, "provider", "check", "oidc.example", "--project", "example", "--ca-file", "own.pem")
    #expect(backend.caFiles.withLock { $0.last } == "own.pem")
    let failed = await Run(
      FakeBackend(reply: .success(reply)), "provider", "check", "oidc.example", "--project", "example")
    #expect(failed.code == .failure && failed.output.contains("FAILED  discovery"))
  }

  // MARK: Others

  @Test func `A provider is added with its secret sealed, and its addresses are printed`() async throws {
    let directory = try TemporaryDirectory()
    let file = try directory.write("s3cret\n", to: "secret")
    let accounts = FakeAccounts { _, _ in
      .success(JSONValue(encoding: ProvidersFound(providers: [Self.view()])))
    }
    let run = await Run(
      FakeBackend(accounts: accounts), "provider", "add", "Example Provider", "--project", "example", "--issuer",
      Self.issuer, "--client-id", "a", "--client-id", "ios=b", "--secret-file", file, "--scope", "email",
      "--parameter", "prompt=login", "--auth-domain", "example.com")
    #expect(run.code == .success, "\(run.error)")
    #expect(run.output.contains("oidc.example-provider") && run.output.contains(Self.returnAddress))
    let sent = try #require(accounts.sent.withLock { $0.first })
    let fields = sent.body["fields"]
    #expect(sent.body["providerID"] == "oidc.example-provider" && sent.body["act"] == "create")
    #expect(fields?["clients"]?[0] == ["clientID": "a", "secret": "s3cret"])
    #expect(fields?["clients"]?[1] == ["clientID": "b", "platform": "ios"])
    #expect(fields?["scopes"] == .texts(["email"]) && fields?["parameters"] == ["prompt": "login"])
    #expect(fields?["enabled"] == true && fields?["usesCodeFlow"] == true)
    #expect(fields?["displayName"] == "Example Provider" && !run.output.contains("s3cret"))
  }

  @Test func `The implicit flow is warned of where the code flow is offered`() async throws {
    let view = Self.view { $0.usesCodeFlow = false }
    let accounts = FakeAccounts { _, _ in .success(JSONValue(encoding: ProvidersFound(providers: [view]))) }
    let probe = FakeProbe(answers: [
      "\(Self.issuer)/.well-known/openid-configuration": Self.answer(.object(Self.discovery))
    ])
    let run = await Run(
      FakeBackend(accounts: accounts, probe: probe), "provider", "add", "example", "--project", "example", "--issuer",
      Self.issuer, "--client-id", "a", "--flow", "idToken", "--off", "--replace")
    #expect(run.code == .success && run.error.contains("warning: the implicit flow"))
    let sent = try #require(accounts.sent.withLock { $0.first })
    #expect(sent.body["act"] == "change" && sent.body["fields"]?["enabled"] == false)
  }

  @Test(
    arguments: [
      ("Example Provider", "oidc.example-provider"), ("example", "oidc.example"), ("oidc.x", "oidc.x"),
      ("  Ä & B2 ", "oidc.b2"), ("id.example.com", "oidc.id.example.com"),
    ])
  func `The ID follows from the name`(name: String, id: String) throws {
    #expect(try ProviderCommand.Add.providerID(name) == id)
  }

  @Test(
    arguments: [
      ["add", "example", "--client-id", "a"], ["add", "example", "--issuer", issuer],
      ["add", "!!", "--issuer", issuer, "--client-id", "a"],
      ["add", "a", "--issuer", issuer, "--client-id", "a", "--parameter", "prompt"], ["check", "google.com"],
      ["remove", "example"], ["add", "a", "--issuer", issuer, "--client-id", "a", "--auth-domain", "https://x"],
    ])
  func `What is wrong is not sent`(arguments: [String]) async {
    let backend = FakeBackend(reply: .success("never"))
    let run = await Run(backend, arguments: ["provider"] + arguments + ["--project", "example"])
    #expect([.usage, .badInput].contains(run.code), "\(run.error)")
    #expect(backend.sent.withLock { $0.isEmpty } && backend.accounts.sent.withLock { $0.isEmpty })
  }

  @Test func `Providers are listed and removed`() async {
    let views = [Self.view(), Self.view { $0.isFromFile = true }]
    let reply = JSONValue(encoding: ProvidersFound(providers: views))
    let list = await Run(FakeBackend(reply: .success(reply)), "provider", "list", "--project", "example")
    #expect(list.code == .success && list.output.contains("oidc.example") && list.output.contains("file"))
    let backend = FakeBackend(reply: .success(JSONValue(encoding: ProvidersFound(providers: []))))
    let removed = await Run(backend, "provider", "remove", "oidc.example", "--project", "example")
    #expect(removed.code == .success && backend.sent.withLock { $0.last?.contains(#""act":"remove""#) } == true)
  }
}
