import CountersignEncoding
import Projects
import ServiceRuntime

/// The frame that the JavaScript SDK has in the page of an app, and that hands it the events of the handler. Only pages
/// of the project may hold it.
struct SignInFrame: Sendable {
  private static let gapi = "https://apis.google.com"

  private let project: Project?
  private let isDevelopment: Bool

  init(_ call: Call, isDevelopment: Bool) {
    project = call.projectOrNil
    self.isDevelopment = isDevelopment
  }

  var page: CallPage {
    let html = """
      <!DOCTYPE html>
      <html lang="en">
      <head><meta charset="utf-8"><title>Countersign</title></head>
      <body><script src="iframe.js"></script>
      <script src="\(Self.gapi)/js/api.js?onload=countersignFrame"></script></body>
      </html>

      """
    var page = CallPage(
      html: Array(html.utf8),
      policy: """
        default-src 'none'; script-src 'self' \(Self.gapi); form-action 'none'; base-uri 'none'; \
        frame-ancestors \(ancestors)
        """)
    page.mayBeFramed = true
    return page
  }

  /// Origins of the project's pages, as the policy writes them.
  private var ancestors: String {
    guard let project else { return "'none'" }
    let domains = project.authorizedDomains + (project.authDomain.map { [$0] } ?? [])
    var sources = project.apps.flatMap(\.origins)
    sources += domains.flatMap { LocalHost.contains($0) ? ["http://\($0):*", "https://\($0):*"] : ["https://\($0):*"] }
    if isDevelopment { sources += ["http://localhost:*", "http://127.0.0.1:*"] }
    sources = sources.filter { $0.utf8.allSatisfy(Self.isOfSource) }
    return sources.isEmpty ? "'none'" : Set(sources).sorted().joined(separator: " ")
  }

  /// Whether an origin can have a byte. What ends a directive cannot.
  private static func isOfSource(_ byte: UInt8) -> Bool {
    (0x21...0x7E).contains(byte) && ![UInt8(ascii: ";"), UInt8(ascii: ","), UInt8(ascii: "'")].contains(byte)
  }
}
