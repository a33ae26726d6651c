import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

extension AccountsBench {
  static let session = OpenIDBench.session

  /// A bench whose project has `oidc.example` in its file, and the issuer that answers it.
  static func withPages(
    _ change: (inout Setting) -> Void = { _ in }
  ) async throws -> (AccountsBench, OpenIDBench) {
    let issuer = try OpenIDBench()
    let bench = try await AccountsBench { setting in
      setting.issuers = issuer.issuers
      change(&setting)
    }
    bench.usePages()
    return (bench, issuer)
  }

  func usePages(_ change: (inout Project) -> Void = { _ in }) {
    var openID = Project.OpenID(issuer: OpenIDBench.issuer)
    openID.scopes = ["profile"]
    var facts = Project.ProviderFacts(clientIDs: ["client a"])
    facts.openID = openID
    var projects: [Project] = []
    for (number, id) in [Self.project, Self.otherProject].enumerated() {
      var project = Project(id: id, number: UInt64(100_000_000_001 + number))
      project.methods = Self.methods.union([.provider("oidc.example")])
      project.providers["oidc.example"] = facts
      project.apps = id == Self.project ? Self.apps : []
      change(&project)
      projects.append(project)
    }
    parts.rules.projects.take(Projects(projects))
  }

  func starting(
    _ provider: String = "oidc.example", id: String, project: String = project, ip: String? = nil,
    _ change: (inout PageRequest) -> Void = { _ in }
  ) throws -> StartIDPSignIn {
    var request = PageRequest(sessionHash: ProviderNonce.hash(Self.session))
    change(&request)
    var command = StartIDPSignIn(
      project: project, providerID: provider, redirectURI: OpenIDBench.redirect,
      request: try sealBound(request.text(), StartIDPSignIn.self, id), replyKey: replyKey.publicKey.jwk)
    command.client = ip.map { StartVerification.Client(ip: $0) }
    return command
  }

  /// Fields of the page's address.
  func page(_ message: Message, id: String) throws -> [String: String] {
    let started = try IDPSignInStarted(json: message.body)
    let address = try opened(started.authURI, IDPSignInStarted.type, id: id).reveal()
    let query = address.drop { $0 != "?" }.dropFirst()
    return Dictionary(FormEncoding.decode(query.utf8).map { ($0.name, $0.value) }) { first, _ in first }
  }

  /// Begins a sign-in at a page.
  /// - Returns: the state.
  func start(_ provider: String = "oidc.example", project: String = project) async throws -> String {
    let id = nextID()
    let reply = try await ask(starting(provider, id: id, project: project), id: id)
    return try #require(try page(reply, id: id)["state"])
  }

  /// The page's answer, as an app brings it.
  func answered(_ state: String, _ change: (inout IDPCredential) -> Void = { _ in }) -> IDPCredential {
    OpenIDBench.answered { credential in
      credential.state = state
      change(&credential)
    }
  }

  func signIn(
    _ credential: IDPCredential, id: String? = nil, idToken: Secret? = nil,
    _ change: (inout SignInWithIDP) -> Void = { _ in }
  ) async throws -> Answer {
    let id = id ?? nextID()
    return try answer(try await ask(command(id, credential, idToken: idToken, change), id: id), id)
  }
}

extension OpenIDBench {
  /// Answers the exchange of the next codes, for the flow that a page was asked for.
  func exchange(for page: [String: String], _ changes: [String: JSONValue] = [:]) throws {
    exchange(try token(["nonce": .text(page["nonce"] ?? "")].merging(changes) { $1 }))
  }
}
