import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry

/// Refresh token that a sign-in at Apple's page leaves, sealed. It is revoked when the identity goes.
struct ProviderGrant: Sendable, Hashable {
  /// Services ID that Apple issued the token to.
  let clientID: String
  /// App that the page was opened for.
  let app: String?
  /// Name of the token key that sealed it.
  let sealedUnder: String
  fileprivate let sealed: String
}

extension ProviderGrant: FieldCoded {
  init(_ fields: inout FieldCoder, _ grant: Self?) throws(UnreadableFields) {
    clientID = try fields.required(1, grant?.clientID)
    app = fields.optional(2, grant?.app)
    sealed = try fields.required(3, grant?.sealed)
    sealedUnder = try fields.required(4, grant?.sealedUnder)
  }
}

/// A grant whose identity has gone, with its subject at Apple. `nil` where no check has told it.
struct LostGrant: Sendable, Hashable {
  let grant: ProviderGrant
  let subject: String?
}

extension LinkedIdentity {
  var lostGrant: LostGrant? { grant.map { LostGrant(grant: $0, subject: subject) } }
}

extension AccountRecord {
  /// Puts a grant on the identity that it is of. Another client's does not end with the new one.
  mutating func take(_ grant: ProviderGrant, at provider: String) {
    guard let index = identities.firstIndex(where: { $0.provider == provider }) else { return }
    if let former = identities[index].lostGrant, former.grant.clientID != grant.clientID { lostGrants.append(former) }
    identities[index].grant = grant
  }
}

/// Seals grants under the token keys, as long as they stay with accounts.
struct GrantSealer: Sendable {
  /// Apple's have some 70 bytes.
  static let maxTokenBytes = 4096
  private static let form = "countersign grant"

  private let seal: TokenKeySeal

  init(_ ring: KeyRing) {
    seal = TokenKeySeal(ring)
  }

  /// `nil` for a token that cannot be kept: it is empty or too long.
  func seal(_ token: Secret, of clientID: String, app: String?) -> ProviderGrant? {
    let bytes = Array(token.reveal().utf8)
    guard (1...Self.maxTokenBytes).contains(bytes.count), let sealed = seal.seal(bytes, Self.header(clientID)) else {
      return nil
    }
    return ProviderGrant(clientID: clientID, app: app, sealedUnder: sealed.key, sealed: sealed.text)
  }

  /// `nil` for one that is sealed under a key that is gone.
  func open(_ grant: ProviderGrant) -> Secret? {
    seal.open(grant.sealed, Self.header(grant.clientID)).map { Secret(String(decoding: $0, as: UTF8.self)) }
  }

  /// Names of the keys that open and no longer seal.
  var formerKeys: [String] { seal.formerKeys }

  /// The grant, sealed under the key that seals. `nil` for one that cannot be opened.
  func sealAgain(_ grant: ProviderGrant) -> ProviderGrant? {
    open(grant).flatMap { seal($0, of: grant.clientID, app: grant.app) }
  }

  private static func header(_ clientID: String) -> [String: String] { ["form": form, "client": clientID] }
}
