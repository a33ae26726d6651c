import CountersignEncoding
import HTTPServer

struct CallRouter: Sendable {
  enum Match: Sendable {
    case found(Route, variables: [String: String])
    /// The path has calls of these methods only.
    case wrongMethod([String], ErrorForm)
    case unknown
  }

  private struct Pattern: Sendable {
    let segments: [String]
    let route: Route
  }

  private let exact: [String: [Route]]
  private let patterns: [Pattern]

  /// Maximum bytes of a path. The protocol's longest has 95 and a project's name.
  private static let maxPathBytes = 512

  init(_ routes: [Route]) {
    var exact: [String: [Route]] = [:]
    var patterns: [Pattern] = []
    for route in routes {
      for path in route.paths {
        if path.contains("{") || path.hasSuffix("*") {
          patterns.append(Pattern(segments: path.split(separator: "/").map(String.init), route: route))
        } else {
          exact[path, default: []].append(route)
        }
      }
    }
    self.exact = exact
    self.patterns = patterns
  }

  func find(_ request: HTTPServerRequest) -> Match {
    find(request.method, request.rawPath, asAdministrator: request.hasBearer)
  }

  /// - Parameter asAdministrator: whether a call of administrators goes before one of apps, which may have the same
  ///   path.
  func find(_ method: String, _ path: some StringProtocol, asAdministrator: Bool = false) -> Match {
    guard path.utf8.count <= Self.maxPathBytes, let segments = Self.segments(path) else { return .unknown }
    let method = method == "HEAD" ? "GET" : method
    if let routes = exact["/" + segments.joined(separator: "/")] {
      return Self.choose(routes.map { ($0, [:]) }, method, asAdministrator)
    }
    return Self.choose(
      patterns.compactMap { pattern in Self.variables(pattern.segments, segments).map { (pattern.route, $0) } }, method,
      asAdministrator)
  }

  private static func choose(
    _ routes: [(route: Route, variables: [String: String])], _ method: String, _ asAdministrator: Bool
  ) -> Match {
    let offered = routes.filter { $0.route.method?.rawValue == method }
    let match =
      offered.first { ($0.route.access == .administrator) == asAdministrator } ?? offered.first
      ?? routes.first { $0.route.method == nil }
    if let match { return .found(match.route, variables: match.variables) }
    let methods = Set(routes.compactMap { $0.route.method?.rawValue }).sorted()
    return methods.isEmpty ? .unknown : .wrongMethod(methods, routes[0].route.errorForm)
  }

  /// Decoded segments of a path. `nil` for a path that no route has: with `%2F` inside a segment, control characters,
  /// broken escapes or bytes that are not UTF-8.
  private static func segments(_ path: some StringProtocol) -> [String]? {
    guard path.utf8.first == UInt8(ascii: "/") else { return nil }
    var segments: [String] = []
    for part in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
      guard let segment = PercentEncoding.decode(strictly: part),
        !segment.unicodeScalars.contains(where: { $0 == "/" || $0.value < 0x20 || $0.value == 0x7F })
      else { return nil }
      segments.append(segment)
    }
    return segments
  }

  private static func variables(_ pattern: [String], _ segments: [String]) -> [String: String]? {
    let isOpen = pattern.last == "*"
    guard isOpen ? segments.count >= pattern.count : segments.count == pattern.count else { return nil }
    var variables: [String: String] = [:]
    for (expected, segment) in zip(isOpen ? pattern.dropLast() : pattern[...], segments) {
      if expected.hasPrefix("{") {
        // The rest of the segment follows the name: `{project}:createSessionCookie`.
        let parts = expected.dropFirst().split(separator: "}", maxSplits: 1, omittingEmptySubsequences: false)
        let ending = parts.count == 2 ? parts[1] : ""
        guard segment.hasSuffix(ending), segment.utf8.count > ending.utf8.count, let name = parts.first else {
          return nil
        }
        variables[String(name)] = String(segment.dropLast(ending.count))
      } else if expected != segment {
        return nil
      }
    }
    return variables
  }
}
