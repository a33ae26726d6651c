import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Claims of a provider about a user: of an ID token, or of a profile.
struct ProviderClaims: Sendable {
  /// As JSON text.
  let json: String
  /// Whether they come from a credential of a test suite, which is neither signed nor complete.
  let isEmulated: Bool
  private let members: [String: JSONValue]

  init(_ members: [String: JSONValue], isEmulated: Bool = false) {
    self.members = members
    self.isEmulated = isEmulated
    json = JSONValue.object(members).json()
  }

  subscript(name: String) -> JSONValue? {
    members[name].flatMap { $0 == .null ? nil : $0 }
  }

  /// A text. `nil` also for an empty one.
  func text(_ name: String) -> String? {
    self[name]?.text.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// `true` or `"true"`: providers write both.
  func isTrue(_ name: String) -> Bool {
    self[name] == .bool(true) || self[name]?.text?.lowercased() == "true"
  }

  /// These claims, with the members of a profile that they do not have. Whether an address is verified belongs to the
  /// address.
  func completed(by profile: [String: JSONValue]) -> ProviderClaims {
    var (own, further) = (members, profile)
    if members["email"] == nil {
      own["email_verified"] = nil
    } else if members["email"] != profile["email"] {
      further["email_verified"] = nil
    }
    return ProviderClaims(further.merging(own) { $1 }, isEmulated: isEmulated)
  }

  /// Seconds since 1970, as a number or as text.
  func time(_ name: String) -> UnixTime? {
    let seconds = self[name]?.wholeNumber ?? self[name]?.text.flatMap { Int($0) }
    return seconds.map { UnixTime(seconds: Int64($0)) }
  }

  /// The texts of a claim that may hold one or several.
  func texts(_ name: String) -> [String] {
    switch self[name] {
    case .text(let text)?: [text]
    case .array(let values)?: values.compactMap(\.text)
    default: []
    }
  }
}

extension ProviderClaims {
  /// The identity, with the profile as OpenID Connect names it (Core 1.0, section 5.1). No address is believed yet.
  /// - Throws: `INVALID_IDP_RESPONSE` when the provider names no user.
  func identity(of provider: String, at now: UnixTime) throws(APIError) -> ProvenIdentity {
    guard let subject = text("sub"), subject.utf8.count <= ProvenIdentity.maxSubjectBytes else {
      throw .invalidIDPResponse("the credential names no user")
    }
    guard json.utf8.count <= ProvenIdentity.maxUserInfoBytes else {
      throw .invalidIDPResponse("the profile is too long")
    }
    var identity = ProvenIdentity(provider: provider, subject: subject, authenticatedAt: min(time("iat") ?? now, now))
    identity.setEmail(text("email"), isVerified: isTrue("email_verified"))
    identity.displayName = text("name").flatMap(ProfileText.name)
    identity.givenName = text("given_name").flatMap(ProfileText.name)
    identity.familyName = text("family_name").flatMap(ProfileText.name)
    identity.photoURL = text("picture").flatMap(ProfileText.photoURL)
    identity.rawUserInfo = json
    return identity
  }
}

extension ProvenIdentity {
  /// Suffix of the addresses of Apple's relay, which other providers may hold too.
  private static let relay = "@privaterelay.appleid.com"

  /// Takes an address that has the form of one.
  mutating func setEmail(_ text: String?, isVerified: Bool) {
    guard let text, ProfileText.isEmail(text) else { return }
    email = text
    isEmailVerified = isVerified
    isRelayAddress = Self.isRelay(text)
  }

  static func isRelay(_ address: String) -> Bool { address.lowercased().hasSuffix(relay) }
}

/// Texts of a profile, cut to what accounts keep.
enum ProfileText {
  /// RFC 5321, section 4.5.3.1: 64 and 255 bytes with the sign between them.
  private static let maxEmailBytes = 320

  /// - Returns: `nil` when nothing can be shown of it.
  static func name(_ text: String) -> String? {
    let shown = String(String.UnicodeScalarView(text.unicodeScalars.filter { !$0.isLayoutControl }))
    let name = shown.cut(toBytes: ProfileChange.maxNameBytes)
    return name.isEmpty ? nil : name
  }

  /// - Returns: `nil` unless it is the https address of a picture.
  static func photoURL(_ text: String) -> String? {
    guard text.hasPrefix("https://"), text.utf8.count <= ProfileChange.maxPhotoBytes,
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    return text
  }

  static func isEmail(_ text: String) -> Bool {
    guard text.utf8.count <= maxEmailBytes, !text.unicodeScalars.contains(where: { $0.isLayoutControl || $0 == " " }),
      let at = text.lastIndex(of: "@")
    else { return false }
    return at > text.startIndex && text.index(after: at) < text.endIndex
  }
}
