import CountersignEncoding
import Projects
import ServiceRuntime

/// End of a sign-in at the page of a provider: the SDK that has opened the page. Only apps and pages of the project are
/// targets: any other could bring the answer itself.
struct SignInTarget: Sendable {
  /// Largest address of a page that a redirect returns to.
  static let maxPageBytes = 2_048

  /// Whether the page proves the app, rather than signing somebody in.
  let isCheck: Bool
  let app: ProjectApp?
  let sessionHash: String
  /// JSON that the script of the page keeps: what the SDK gets back, and where.
  let context: String

  private static let check = "verifyApp"
  private static let ofApp = "signInWithRedirect"
  private static let popups = ["signInViaPopup", "linkViaPopup", "reauthViaPopup"]
  private static let redirects = ["signInViaRedirect", "linkViaRedirect", "reauthViaRedirect"]

  /// Reads the query of the page.
  ///
  /// - Throws: the error of a query that no SDK of the project has sent.
  init(_ call: Call, isDevelopment: Bool) throws(ProtocolError) {
    let (query, project) = (call.query, try call.project())
    let type = try query.required("authType")
    var context = CallAnswer()
    context.put("authType", type)
    // The JavaScript SDK sends none for a redirect that signs in.
    let eventID = try Self.redirects.contains(type) ? query.printable("eventId") : query.required("eventId")
    context.put("eventId", eventID)
    isCheck = type == Self.check
    if isCheck || type == Self.ofApp {
      let app = try Self.app(query, project)
      context.put("scheme", try Self.scheme(query, of: app, project))
      self.app = app
      sessionHash = isCheck ? "" : try Self.sessionHash(query)
    } else {
      let isPopup = Self.popups.contains(type)
      guard isPopup || Self.redirects.contains(type) else { throw .foreignPage }
      let session = SessionID.make()
      let page = try Self.page(query, project, isDevelopment: isDevelopment)
      context.put("apiKey", try query.required("apiKey"))
      context.put("appName", try query.required("appName"))
      context.put("sessionId", session)
      if !isPopup { context.put("redirectUrl", page.url) }
      app = project.app(origin: page.origin) ?? call.app
      sessionHash = SessionID.hash(session)
    }
    self.context = String(decoding: context.json, as: UTF8.self)
  }

  // MARK: Apps

  private static func app(_ query: CallBody, _ project: Project) throws(ProtocolError) -> ProjectApp {
    guard let app = project.app(id: try query.required("ibi")), app.platform == .ios else { throw .foreignPage }
    return app
  }

  /// URL scheme of the app: its client ID at Google with the parts reversed, or its app ID.
  private static func scheme(
    _ query: CallBody, of app: ProjectApp, _ project: Project
  ) throws(ProtocolError) -> String {
    guard let clientID = try query.word("clientId", else: foreign) else {
      guard try query.required("appId") == app.appID else { throw .foreignPage }
      return app.encodedAppID
    }
    guard project.clientIDs(of: "google.com").contains(clientID), clientID.hasSuffix(".apps.googleusercontent.com"),
      clientID.isMatched(by: { $0.isLetterOrDigit || $0 == "." || $0 == "-" }, length: 1...CallBody.maxWordBytes)
    else { throw .foreignPage }
    return clientID.split(separator: ".").reversed().joined(separator: ".")
  }

  private static func sessionHash(_ query: CallBody) throws(ProtocolError) -> String {
    guard let hash = SessionID.readHash(try query.required("sessionId")) else { throw .foreignPage }
    return hash
  }

  // MARK: Pages

  /// The page that has opened this one, with its origin. What it has in query and fragment does not matter.
  private static func page(
    _ query: CallBody, _ project: Project, isDevelopment: Bool
  ) throws(ProtocolError) -> (url: String, origin: String) {
    guard let url = try query.text("redirectUrl"), url.utf8.count <= maxPageBytes,
      let parts = URLParts(String(url.prefix { !"?#".contains($0) })),
      url.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { throw .foreignPage }
    let host = parts.host.lowercased()
    let isOfProject = project.app(origin: parts.base) != nil || project.hasDomain(host) && !parts.isUnprotected
    guard isOfProject || isDevelopment && LocalHost.contains(host) else { throw .foreignPage }
    return (url, parts.base)
  }

  fileprivate static let foreign = "INVALID_REQUEST"
}

extension Project {
  func hasDomain(_ host: String) -> Bool { host == authDomain || authorizedDomains.contains(host) }
}

extension ProtocolError {
  static let foreignPage = account(SignInTarget.foreign)
}

extension CallBody {
  /// A parameter that every SDK sends.
  fileprivate func required(_ name: String) throws(ProtocolError) -> String {
    guard let text = try printable(name) else { throw .foreignPage }
    return text
  }

  fileprivate func printable(_ name: String) throws(ProtocolError) -> String? {
    guard let text = try word(name, else: SignInTarget.foreign) else { return nil }
    guard text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else { throw .foreignPage }
    return text
  }
}
