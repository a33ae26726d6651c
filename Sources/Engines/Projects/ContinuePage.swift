import ServiceRuntime

/// Page of an app that a link in a mail leads to, or goes on to afterwards. Who asks for the mail names it, so it has to
/// be on a host of the project.
public struct ContinuePage: Sendable, Hashable {
  /// Maximum length of its address in bytes.
  public static let longest = 1_024

  /// Reason that a link does not lead there.
  public enum Problem: Error, Sendable, Hashable {
    /// No address of `https://`, or of `http://` on the own machine.
    case malformed
    /// A host that is not one of the project's.
    case foreignHost
  }

  /// The address, as it was written: ASCII, without user, password, quotes and brackets.
  public let url: String

  /// - Throws: ``Problem``.
  public init(_ url: String, of project: Project) throws(Problem) {
    let page = url.prefix { !"?#".contains($0) }
    guard url.utf8.count <= Self.longest, let parts = URLParts(String(page)), !parts.isUnprotected,
      url.dropFirst(page.count).unicodeScalars.allSatisfy(Self.isPart)
    else { throw .malformed }
    let host = parts.host.lowercased()
    guard host == project.authDomain || project.authorizedDomains.contains(host) else { throw .foreignHost }
    self.url = url
  }

  /// Whether a query or a fragment can have a character.
  private static func isPart(_ character: Unicode.Scalar) -> Bool {
    ("!"..."~").contains(character) && !"<>\"\\^`{|}".unicodeScalars.contains(character)
  }
}

extension ContinuePage {
  /// The address with further parameters, which go before its own: of two with one name the first counts.
  /// - Parameter parameters: encoded, such as `mode=signIn&lang=en`.
  public func adding(_ parameters: String) -> String {
    let fragment = url.drop { $0 != "#" }
    let rest = url.dropLast(fragment.count)
    let page = rest.prefix { $0 != "?" }
    let own = rest.dropFirst(page.count + 1)
    return "\(page)?\(parameters)\(own.isEmpty ? "" : "&\(own)")\(fragment)"
  }
}
