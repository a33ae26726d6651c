import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPServer
import Projects
import TestSupport
import Testing

@testable import Gateway

/// The pages of sign-ins, in front of services as a test scripts them.
struct SignInFixture: Sendable {
  static let clientID = "100000000001-ios.apps.googleusercontent.com"
  static let hash = String(repeating: "0a", count: 32)
  static let authURI = "https://id.example.com/authorize?client_id=c&state=sealed-state"

  let fixture: CallFixture
  var project: Project

  init(isDevelopment: Bool = false) throws {
    fixture = try CallFixture(isDevelopment: isDevelopment)
    project = fixture.project
    project.authorizedDomains = ["app.example.com", "auth.example.com"]
    project.methods = [.provider("apple.com"), .provider("google.com")]
    project.providers["google.com"] = .init(clientIDs: [Self.clientID])
    project.recaptcha = Project.Recaptcha(siteKey: "site-key\"><b>")
    project.apps.append(
      ProjectApp(
        id: "example-web", platform: .web, appID: "1:100000000001:web:bb", origins: ["https://www.example.org"]))
  }

  /// Has accounts answer with an address.
  func expectStart(_ check: @escaping @Sendable (StartIDPSignIn, PageRequest) -> Void = { _, _ in }) {
    fixture.services.on(StartIDPSignIn.self) { command, asked in
      check(command, try PageRequest(text: Secret(asked.open(command.request))))
      return IDPSignInStarted(authURI: try asked.seal(Self.authURI, to: command.replyKey))
    }
  }

  struct Shown {
    let page: CallPage
    var html: String { String(decoding: page.html, as: UTF8.self) }
    /// Text of an attribute of the main part.
    func value(_ name: String) -> String? {
      guard let rest = html.split(separator: " data-\(name)=\"", maxSplits: 1).dropFirst().first else { return nil }
      return String(rest.prefix { $0 != "\"" }).replacing("&quot;", with: "\"").replacing("&amp;", with: "&")
    }
    var context: JSONValue? { value("context").flatMap { try? JSONValue(parsing: Array($0.utf8)) } }
  }

  func open(
    _ query: [(name: String, value: String)] = [], path: String = "/__/auth/handler", form: String? = nil,
    host: String = "auth.example.com", headers: HTTPServerHeaders = [:], ofProject: Bool = true
  ) async throws -> Shown {
    var headers = headers
    headers.add(name: "Host", value: host)
    return Shown(
      page: try await fixture.page(
        path, query: FormEncoding.encode(query), form: form, headers: headers, project: ofProject ? project : nil))
  }

  /// Query of the JavaScript SDK.
  static func script(_ changes: [String: String?] = [:]) -> [(name: String, value: String)] {
    query(
      [
        "apiKey": "fake-api-key", "appName": "[DEFAULT]", "authType": "signInViaPopup", "v": "11.3.1",
        "redirectUrl": "https://app.example.com/login?a={1}#b|c", "eventId": "uid-1:::0123456789",
        "providerId": "google.com",
      ], changes)
  }

  /// Query of the Apple SDK.
  static func apple(_ changes: [String: String?] = [:]) -> [(name: String, value: String)] {
    query(
      [
        "apiKey": "fake-api-key", "authType": "signInWithRedirect", "ibi": "com.example.push", "sessionId": hash,
        "v": "iOS", "eventId": "ABCDEFGHIJ", "providerId": "oidc.example", "appId": "1:100000000001:ios:aa",
      ], changes)
  }

  private static func query(
    _ usual: [String: String], _ changes: [String: String?]
  ) -> [(name: String, value: String)] {
    var all = usual
    for (name, value) in changes { all[name] = value }
    return all.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
  }
}
