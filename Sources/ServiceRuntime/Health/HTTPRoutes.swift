public import HTTPServer
import Synchronization

/// What a process answers on its HTTP port beside health and metrics: callbacks of providers.
public final class HTTPRoutes: Sendable {
  /// Answers a request whose path begins with the route's.
  public typealias Handler = @Sendable (HTTPServerRequest) async -> HTTPServerResponse

  /// The longest body that a route gets; a longer one is answered with 413.
  public static let maxBodyBytes = 64 * 1024

  private let routes = Mutex<[(prefix: String, handler: Handler)]>([])

  public init() {}

  /// Adds a route. Requests that came before are answered with 404.
  ///
  /// - Parameters:
  ///   - prefix: The beginning of the paths, with a slash at its end: `/receipts/`.
  ///   - handler: Answers. It is cancelled when the process stops and its grace is over.
  public func register(_ prefix: String, _ handler: @escaping Handler) {
    routes.withLock { $0.append((prefix, handler)) }
  }

  func handler(of path: String) -> Handler? {
    routes.withLock { routes in routes.first { path.hasPrefix($0.prefix) }?.handler }
  }
}
