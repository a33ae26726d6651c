import CountersignEncoding
import CountersignMessages
import Projects
import ServiceRuntime
import TestSupport
import Testing

@testable import Accounts

@Suite("The worked example of docs/adding-a-sign-in-method.md") struct ExampleProviderTests {
  private struct Settings: Configuration {
    let providers: ProvidersConfiguration

    init(_ section: ConfigurationSection) {
      // The line in the registry.
      providers = ProvidersConfiguration(section, kinds: ProvidersConfiguration.kinds + [ExampleSettings.self])
    }
  }

  private let bench: ProviderBench
  private let project: Project

  init() throws {
    bench = try ProviderBench()
    bench.publish(at: "https://keys.example.test/set")
    var project = ProviderBench.project
    project.methods.insert(.provider(ExampleSettings.id))
    project.providers[ExampleSettings.id] = Project.ProviderFacts(clientIDs: ["client"])
    self.project = project
  }

  private func provider() throws -> any IdentityProvider {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let settings = try Settings.load(
      file: directory.write("{}", to: "accounts.json5"),
      environment: ["COUNTERSIGN_PROVIDERS_EXAMPLE_KEYS_URL": "https://keys.example.test/set"]
    ).content
    let providers = try settings.providers.make { _, secrets in bench.context(secrets) }
    return try #require(providers[ExampleSettings.id])
  }

  private func token(_ audience: JSONValue = "client") throws -> String {
    try bench.token([
      "iss": "https://example.test", "aud": audience, "sub": "42", "nonce": .text(ProviderNonce.hash("raw")),
      "iat": .integer(bench.seconds), "exp": .integer(bench.seconds + 60), "name": "A User",
    ])
  }

  @Test func `It verifies credentials, at the address that the environment names`() async throws {
    let identity = try await provider().verify(
      IDPCredential(ExampleSettings.id, token(), nonce: "raw"), for: project, at: bench.now)
    #expect(identity.provider == "example.test" && identity.subject == "42" && identity.displayName == "A User")
    #expect(!identity.isEmailBelieved && bench.requests == ["https://keys.example.test/set"])
  }

  @Test func `It refuses other audiences and other nonces`() async throws {
    let provider = try provider()
    let other = IDPCredential(ExampleSettings.id, try token("other"), nonce: "raw")
    #expect(await provider.refusal(other, for: project, at: bench.now)?.code == .invalidIDPResponse)
    let replayed = IDPCredential(ExampleSettings.id, try token(), nonce: "other")
    #expect(await provider.refusal(replayed, for: project, at: bench.now) == .wrongNonce)
  }
}

/// Compares the listings of the page with the files of this folder.
@Suite struct AddingASignInMethodTests {
  private let page: PageListings

  init() throws { page = try PageListings(of: "docs/adding-a-sign-in-method.md") }

  @Test func `Its listing is the file it names, from the first line to the last`() throws {
    #expect(page.files == ["Tests/Accounts/AccountsTests/Providers/Example/ExampleProvider.swift"])
    #expect(try page.changedFiles == [], "change their listings too")
  }

  @Test func `The paths that it names exist`() {
    #expect(page.paths.count > 3)
    #expect(page.missingPaths == [])
  }
}
