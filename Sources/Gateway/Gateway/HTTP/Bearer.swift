import HTTPServer

/// Bearer of a request.
///
/// Administrators' bearers go to `accounts` as they are. `owner`, in any case, counts in development mode and from this
/// machine alone, in calls of apps, too, where any other is refused.
struct Bearer: Sendable {
  private static let owner = "owner"

  /// `nil` in calls of apps.
  let token: String?

  init(_ request: HTTPServerRequest, _ route: Route, isDevelopment: Bool) throws(ProtocolError) {
    // Libraries of administrators send theirs with every call: public keys need none.
    guard route.access != .open, request.hasBearer || route.access == .administrator else {
      token = nil
      return
    }
    guard let text = Self.text(of: request) else { throw .unauthenticated }
    let isOwner = text.lowercased() == Self.owner
    if isOwner {
      guard isDevelopment, LocalRequest.isLocal(request) else { throw .unauthenticated }
    } else if route.access != .administrator {
      throw .unauthenticated
    }
    token = route.access == .administrator ? (isOwner ? Self.owner : text) : nil
  }

  /// RFC 6750, section 2.1. `nil` for another scheme, several headers, or a malformed token.
  private static func text(of request: HTTPServerRequest) -> String? {
    let values = request.headers.all("Authorization")
    guard values.count == 1, values[0].lowercased().hasPrefix("bearer ") else { return nil }
    let token = String(values[0].dropFirst("bearer ".count))
    guard (1...CallBody.maxSecretBytes).contains(token.utf8.count),
      token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    return token
  }
}
