import HTTPServer
import Projects
import ServiceRuntime

/// App that a request comes from, as far as the request says.
///
/// A client can name any app of the project: the proof of the app (push, reCAPTCHA) decides, not the name. In this
/// order:
/// 1. `X-Ios-Bundle-Identifier`, which Apple's SDK sends; `X-Android-Package`.
/// 2. `X-Firebase-GMPID`, the app ID of the SDK's configuration.
/// 3. `Origin`: the web app that has it.
/// 4. The project's first web app; none if it has none.
///
/// An app that is named and not of the project is refused. So is a page whose origin is neither a web app's nor on the
/// project's domains; in development mode pages of this machine are accepted.
struct CallerApp: Sendable, Hashable {
  let app: ProjectApp?
  let name: String?
  let origin: String?

  init(_ request: HTTPServerRequest, _ project: Project, isDevelopment: Bool) throws(ProtocolError) {
    origin = request.headers["Origin"].flatMap { $0.isEmpty ? nil : $0 }
    if let origin { try Self.check(origin, project, isDevelopment) }
    if let bundleID = request.headers.named("X-Ios-Bundle-Identifier") {
      app = try Self.app(bundleID, .ios, "iOS client", project)
      name = bundleID
    } else if let package = request.headers.named("X-Android-Package") {
      app = try Self.app(package, .android, "Android client", project)
      name = package
    } else if let appID = request.headers.named("X-Firebase-GMPID") {
      app = try Self.app(id: appID, origin, project)
      name = appID
    } else {
      app = origin.flatMap { project.app(origin: $0) } ?? project.firstWebApp
      name = nil
    }
  }

  /// The project's first web app, of a page that a mail leads to.
  init(of project: Project) {
    app = project.firstWebApp
    name = nil
    origin = nil
  }

  private static func app(
    _ id: String, _ platform: ProjectApp.Platform, _ kind: String, _ project: Project
  ) throws(ProtocolError) -> ProjectApp {
    guard let app = project.app(id: id), app.platform == platform else {
      throw .appBlocked("Requests from this \(kind) application are blocked: the project has no such app.")
    }
    return app
  }

  private static func app(
    id: String, _ origin: String?, _ project: Project
  ) throws(ProtocolError) -> ProjectApp {
    guard let app = project.app(appID: id) else {
      throw .appBlocked("Requests from this application are blocked: the project has no app with this app ID.")
    }
    if let origin, let owner = project.app(origin: origin), owner != app {
      throw .appBlocked("Requests from this page are blocked: its origin is another app's.")
    }
    return app
  }

  private static func check(
    _ origin: String, _ project: Project, _ isDevelopment: Bool
  ) throws(ProtocolError) {
    if project.app(origin: origin) != nil { return }
    if let host = URLParts(origin)?.host {
      if project.authorizedDomains.contains(host) || project.authDomain == host { return }
      if isDevelopment && LocalHost.contains(host) { return }
    }
    // Any page can have no origin, in a sandboxed frame: to let it pass would let all pages pass.
    guard origin != "null", !origin.hasPrefix("file:") else {
      throw .appBlocked(
        "Requests from this page are blocked: opened from a file or in a sandbox it has no origin. Serve it by http.")
    }
    throw .appBlocked(
      "Requests from this page are blocked: its origin is neither an app's nor on an authorized domain.")
  }
}

extension Project {
  /// App of requests that name none.
  fileprivate var firstWebApp: ProjectApp? { apps.first { $0.platform == .web } }
}

extension HTTPServerHeaders {
  fileprivate func named(_ name: String) -> String? {
    self[name].flatMap { $0.isEmpty ? nil : $0 }
  }
}
