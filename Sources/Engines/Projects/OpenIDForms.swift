import ServiceRuntime

/// Forms of the values of an OpenID Connect provider, in a project's file as in commands of administrators.
public enum OpenIDForms {
  /// The most providers that administrators set for a project.
  public static let maxProviders = 50
  /// The most clients of a project at a provider.
  public static let maxClients = 10
  /// The most scopes beside `openid`.
  public static let maxScopes = 20
  /// The most parameters of a page.
  public static let maxParameters = 20
  /// Names of parameters that belong to the flow itself. An app could otherwise have the answer sent elsewhere.
  public static let reservedParameters: Set<String> = [
    "client_id", "response_type", "redirect_uri", "state", "scope", "response_mode", "nonce", "code_challenge",
    "code_challenge_method", "request", "request_uri",
  ]

  /// Whether a parameter belongs to the flow itself, in whatever letters: some servers read names without their case.
  public static func isReserved(_ name: String) -> Bool { reservedParameters.contains(name.lowercased()) }

  /// Beginning of all IDs.
  public static let prefix = "oidc."
  /// Form of an ID, in words.
  public static let idForm = "oidc. and 1 to 32 lower case letters, digits, - and ."
  /// Form of an issuer, in words.
  public static let issuerForm = "an address of https:// without user and query, or of http:// on the own machine"

  /// Whether a text is the ID of an OpenID Connect provider: `oidc.example`.
  public static func isID(_ text: String) -> Bool {
    text.hasPrefix(prefix)
      && String(text.dropFirst(prefix.count)).isMatched(
        by: { ("a"..."z").contains($0) || $0.isDigit || $0 == "-" || $0 == "." }, length: 1...32)
  }

  /// Whether a text is an issuer: `https://id.example.com`.
  public static func isIssuer(_ text: String) -> Bool { ProjectForms.isPageAddress(text) && !text.contains("@") }

  /// Name for people: 1 to 64 characters without control characters.
  public static func isDisplayName(_ text: String) -> Bool {
    text.isMatched(by: { $0.value >= 0x20 && $0.value != 0x7F }, length: 1...64)
  }

  /// Scope of RFC 6749: visible ASCII without `"` and `\`, up to 255 bytes.
  public static func isScope(_ text: String) -> Bool {
    text.isMatched(by: { ("!"..."~").contains($0) && $0 != "\"" && $0 != "\\" }, length: 1...255)
  }

  /// Name of a parameter: up to 64 letters, digits, `.`, `-` and `_`.
  public static func isParameterName(_ text: String) -> Bool { text.utf8.count <= 64 && ProjectForms.isAppName(text) }

  /// Value of a parameter: up to 500 characters without control characters.
  public static func isParameterValue(_ text: String) -> Bool {
    text.isMatched(by: { $0.value >= 0x20 && $0.value != 0x7F }, length: 0...500)
  }

  /// Secret of a client: up to 1,024 visible characters of ASCII, spaces among them.
  public static func isSecret(_ text: String) -> Bool {
    text.isMatched(by: { (" "..."~").contains($0) }, length: 1...1024)
  }
}
