import ServiceRuntime

/// Forms of the values of a project's file, for the reader and for commands that write one.
public enum ProjectForms {
  /// Project numbers, which clients read as signed numbers of 64 bits.
  public static let numbers = 1...999_999_999_999_999
  /// The most API keys of a project: enough to change all of them while old apps are about.
  public static let maxKeys = 10
  /// The most apps of a project, origins of an app, and domains of a project.
  public static let maxEntries = 200

  /// Form of a project's ID, in words.
  public static let projectIDForm =
    "6 to 30 lower case letters, digits and hyphens, beginning with a letter and not ending with a hyphen"

  /// Whether a text has the form of a project's ID.
  public static func isProjectID(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first, isLowerCase(first), !text.hasSuffix("-") else { return false }
    return text.isMatched(by: { isLowerCase($0) || $0.isDigit || $0 == "-" }, length: 6...30)
  }

  /// 8 to 128 letters, digits, `-` and `_`.
  public static func isAPIKey(_ text: String) -> Bool {
    text.isMatched(by: { $0.isLetterOrDigit || $0 == "-" || $0 == "_" }, length: 8...128)
  }

  /// A bundle ID, package name or name of a web app: up to 128 letters, digits, `.`, `-` and `_`.
  public static func isAppName(_ text: String) -> Bool {
    text.isMatched(by: { $0.isLetterOrDigit || ".-_".unicodeScalars.contains($0) }, length: 1...128)
  }

  /// `1:NUMBER:PLATFORM:` and 8 to 64 hexadecimal digits.
  public static func isAppID(_ text: String, number: UInt64, platform: ProjectApp.Platform) -> Bool {
    let prefix = "1:\(number):\(platform.rawValue):"
    guard text.hasPrefix(prefix) else { return false }
    return String(text.dropFirst(prefix.count)).isMatched(
      by: { $0.isDigit || ("a"..."f").contains($0) }, length: 8...64)
  }

  /// A host name in lower case: `example.com`, `localhost`.
  public static func isHost(_ text: some StringProtocol) -> Bool {
    guard text.utf8.count <= 253 else { return false }
    return text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
      String(label).isMatched(by: { isLowerCase($0) || $0.isDigit || $0 == "-" }, length: 1...63)
        && !label.hasPrefix("-") && !label.hasSuffix("-")
    }
  }

  /// `scheme://host[:port]` as browsers send it: lower case, without path, without the scheme's own port. The port of
  /// the own machine may be `*`.
  public static func isOrigin(_ text: String) -> Bool {
    guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else { return false }
    let scheme = text[..<colon]
    let authority = text[colon...].dropFirst(3)
    guard let first = scheme.unicodeScalars.first, isLowerCase(first),
      String(scheme).isMatched(
        by: { isLowerCase($0) || $0.isDigit || "+-.".unicodeScalars.contains($0) }, length: 1...32)
    else { return false }
    guard let end = hostEnd(authority) else { return isHost(authority) }
    let (host, port) = (authority[..<end], authority[end...].dropFirst())
    guard authority[end...].first == ":" || port.isEmpty else { return false }
    return (isHost(host) || host == "[::1]")
      && isPort(port, scheme: scheme, host: host, isThere: end < authority.endIndex)
  }

  private static func isPort(_ port: Substring, scheme: Substring, host: Substring, isThere: Bool) -> Bool {
    guard isThere else { return true }
    if port == "*" { return LocalHost.contains(String(host)) }
    let own = ["https": "443", "http": "80"][String(scheme)]
    return isPort(port) && String(port) != own
  }

  /// The end of the host. `nil` where nothing follows it and it is not an address in brackets.
  private static func hostEnd(_ authority: Substring) -> Substring.Index? {
    if authority.hasPrefix("[") { return authority.firstIndex(of: "]").map(authority.index(after:)) }
    return authority.firstIndex(of: ":")
  }

  static func isPort(_ text: Substring) -> Bool {
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), text.first != "0" else { return false }
    return UInt16(text) != nil
  }

  /// `projects/PROJECT/keys/KEY`.
  public static func isEnterpriseKey(_ text: String) -> Bool {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 4, parts[0] == "projects", parts[2] == "keys" else { return false }
    return isSiteKey(parts[1]) && isSiteKey(parts[3])
  }

  /// Up to 128 letters, digits, `-` and `_`.
  public static func isSiteKey(_ text: String) -> Bool {
    text.isMatched(by: { $0.isLetterOrDigit || $0 == "-" || $0 == "_" }, length: 1...128)
  }

  /// Form of a way to sign in, in words.
  public static let methodForm =
    "phone, anonymous, password, emailLink, custom, phoneSecondFactor, totp or the ID of a provider, such as apple.com"

  /// Whether a text names a way to sign in.
  public static func isMethod(_ text: String) -> Bool {
    Project.Method.own.contains(Project.Method(rawValue: text)) || isProviderID(text)
  }

  /// The ID of an identity provider: up to 64 lower case letters, digits, `.`, `-` and `_`, one dot at least.
  public static func isProviderID(_ text: String) -> Bool {
    text.isMatched(by: { isLowerCase($0) || $0.isDigit || ".-_".unicodeScalars.contains($0) }, length: 3...64)
      && text.dropFirst().dropLast().contains(".")
  }

  /// An address of mail, `name@example.com`, in printable ASCII: up to 254 bytes.
  public static func isMailAddress(_ text: String) -> Bool {
    guard text.isMatched(by: { ("!"..."~").contains($0) }, length: 3...254) else { return false }
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    return parts.count == 2 && !parts[0].isEmpty && isHost(String(parts[1]).lowercased())
  }

  /// Address of a page without query and fragment, of https, or of http on the own machine: up to 1,024 bytes.
  public static func isPageAddress(_ text: String) -> Bool {
    guard text.isMatched(by: { ("!"..."~").contains($0) && !"?#\\\"<>".unicodeScalars.contains($0) }, length: 9...1024)
    else { return false }
    return text.hasPrefix("https://")
      || ["http://127.0.0.1", "http://localhost"].contains { start in
        guard text.hasPrefix(start) else { return false }
        return text.dropFirst(start.count).first.map { $0 == ":" || $0 == "/" } ?? false
      }
  }

  /// Name of a client or app at a provider: 1 to 255 visible characters of ASCII.
  public static func isClientID(_ text: String) -> Bool {
    text.isMatched(by: { ("!"..."~").contains($0) }, length: 1...255)
  }

  private static func isLowerCase(_ scalar: Unicode.Scalar) -> Bool { ("a"..."z").contains(scalar) }
}
