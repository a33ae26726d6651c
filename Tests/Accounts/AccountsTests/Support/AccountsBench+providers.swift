import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import Projects
import Synchronization
import TestSupport
import Testing

@testable import Accounts

/// Identity provider whose tokens say in JSON what they prove.
struct FakeProvider: IdentityProvider {
  let id: String
  var countsOnce = false
  var isBelieved = true
  /// Seals the refresh tokens of its page.
  var grants: GrantSealer?
  var exchange: ExchangedCodes.Exchange = { _ in true }

  struct Token: Codable {
    var subject: String
    var email: String?
    var isVerified = true
    var isRelay = false
    var name: String?
    var photo: String?
    var issuer: String?
    var refreshToken: String?
    /// Whether it is refused behind its page.
    var isRefused: Bool?
    /// Distinguishes tokens with the same content.
    var serial = 0

    init(_ subject: String, email: String? = nil) {
      self.subject = subject
      self.email = email
    }
  }

  func verify(
    _ credential: IDPCredential, for project: Project, at now: UnixTime
  ) async throws(APIError) -> ProvenIdentity {
    guard let text = credential.idToken,
      let token = try? JSONDecoder().decode(Token.self, from: Data(text.utf8))
    else { throw APIError(.invalidIDPResponse, "the token is not one of \(id)") }
    var proven = ProvenIdentity(provider: id, subject: token.subject, authenticatedAt: now)
    proven.email = token.email
    proven.isEmailVerified = token.email != nil && token.isVerified
    proven.isEmailBelieved = isBelieved
    proven.isRelayAddress = token.isRelay
    proven.displayName = token.name.flatMap(ProfileText.name)
    proven.photoURL = token.photo.flatMap(ProfileText.photoURL)
    proven.issuer = token.issuer
    proven.oauthIDToken = Secret(text)
    if countsOnce { proven.countsOnce = SpentCredential(value: [text], until: now + .seconds(3600)) }
    return proven
  }

  static let all = [
    FakeProvider(id: "apple.com", countsOnce: true), FakeProvider(id: "google.com"),
    FakeProvider(id: "facebook.com", isBelieved: false),
  ]
}

/// Codes of pages that were exchanged: each counts once, as at Apple.
final class ExchangedCodes: Sendable {
  /// Whether a code counts.
  typealias Exchange = @Sendable (String) -> Bool

  private let codes = Mutex<Set<String>>([])

  func take(_ code: String) -> Bool { codes.withLock { $0.insert(code).inserted } }
}

extension FakeProvider: PageProvider {
  func pageClient(of project: Project, for app: ProjectApp?) throws(APIError) -> String { "client" }

  func pageAddress(
    _ flow: PageFlow, _ request: PageRequest, state: Secret, for project: Project
  ) async throws(APIError) -> Secret { Secret("https://\(id)/page?state=\(state.reveal())") }

  /// The code is a token.
  func finish(
    _ flow: PageFlow, with credential: IDPCredential, for project: Project, at now: UnixTime
  ) async throws(APIError) -> ProvenIdentity {
    guard exchange("\(id) \(credential.code ?? "")") else { throw .invalidIDPResponse("invalid_grant") }
    var proven = try await verify(IDPCredential(id, credential.code), for: project, at: now)
    // It is one: see above.
    let token = credential.code.flatMap { try? JSONDecoder().decode(Token.self, from: Data($0.utf8)) }
    proven.grant = token?.refreshToken.flatMap { grants?.seal(Secret($0), of: flow.clientID, app: flow.app) }
    return proven
  }

  func outcome(
    _ flow: PageFlow, with credential: IDPCredential, for project: Project, at now: UnixTime
  ) async -> CheckedCredential {
    do throws(APIError) {
      let proven = try await finish(flow, with: credential, for: project, at: now)
      // As above.
      let token = credential.code.flatMap { try? JSONDecoder().decode(Token.self, from: Data($0.utf8)) }
      guard token?.isRefused == true else { return CheckedCredential(.success(proven)) }
      return CheckedCredential(
        .failure(APIError(.invalidIDPResponse, "the token is refused")),
        lost: proven.grant.map { LostGrant(grant: $0, subject: proven.subject) })
    } catch {
      return CheckedCredential(.failure(error))
    }
  }
}

extension AccountsBench {
  func command(
    _ id: String, _ credential: IDPCredential, idToken: Secret? = nil, app: String? = nil,
    _ change: (inout SignInWithIDP) -> Void = { _ in }
  ) throws -> SignInWithIDP {
    var command = SignInWithIDP(
      project: Self.project, credential: try seal(credential.text(), SignInWithIDP.self, id),
      replyKey: replyKey.publicKey.jwk)
    command.app = app
    command.idToken = try idToken.map { try seal($0, SignInWithIDP.self, id) }
    change(&command)
    return command
  }

  func credential(_ provider: String, _ token: FakeProvider.Token) throws -> IDPCredential {
    var credential = IDPCredential(providerID: provider)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    credential.idToken = String(decoding: try encoder.encode(token), as: UTF8.self)
    return credential
  }

  /// Signs in, or links with an ID token.
  func signIn(
    at provider: String, _ token: FakeProvider.Token, id: String? = nil, idToken: Secret? = nil, app: String? = nil,
    _ change: (inout SignInWithIDP) -> Void = { _ in }
  ) async throws -> Answer {
    let id = id ?? nextID()
    let command = try command(id, credential(provider, token), idToken: idToken, app: app, change)
    return try answer(try await ask(command, id: id), id)
  }

  func signIn(
    pending token: Secret?, idToken: Secret? = nil, app: String? = nil,
    _ change: (inout SignInWithIDP) -> Void = { _ in }
  ) async throws -> Answer {
    let id = nextID()
    var credential = IDPCredential()
    credential.pendingToken = try #require(token).reveal()
    return try answer(
      try await ask(command(id, credential, idToken: idToken, app: app, change), id: id), id)
  }

  func unlink(_ providers: String..., idToken: Secret?) async throws -> Message {
    try await update(idToken) { $0.deleteProviders = providers }
  }
}
