import CountersignMessages
import CountersignTelemetry
import HTTPServer
import Projects

/// Call of a client, after the checks that all calls have in common.
struct Call: Sendable {
  let request: HTTPServerRequest
  /// Name of the route, for logs and metrics: `signUp`.
  let name: String
  /// Variables of the path: `project` of `/emulator/v1/projects/{project}/accounts`.
  let variables: [String: String]
  /// Project of the API key. Of calls in development mode and of administrators, the one that they name. `nil` for open
  /// addresses.
  let projectOrNil: Project?
  /// App of the project that the request names, else the project's first web app. `nil` if it has none.
  let app: ProjectApp?
  let client: CallClient
  let apiKey: String?
  /// Access token of an administrator, which only `accounts` judges. `nil` in calls of apps.
  let bearer: String?
  let query: CallBody
  /// JSON object or form. Empty for GET.
  let body: CallBody
  /// ID of the request in logs. Messages that it causes have IDs of their own.
  let requestID: String
  let deadline: MonotonicTime

  func project() throws(ProtocolError) -> Project {
    guard let projectOrNil else { throw .notFound }
    return projectOrNil
  }

  func requiredApp() throws(ProtocolError) -> ProjectApp {
    guard let app else {
      throw .appBlocked("Requests without an app are blocked: send X-Ios-Bundle-Identifier or X-Firebase-GMPID.")
    }
    return app
  }
}

struct CallClient: Sendable, Hashable {
  /// Address of the client, of which trusted proxies only may tell.
  var address: String
  /// Cut to ``CallLimits/maxUserAgentBytes``.
  var userAgent: String?
  /// Language of SMS and mail: `X-Firebase-Locale`.
  var locale: String?
  var origin: String?
  /// Bundle ID, package name or app ID that the request names.
  var appName: String?

  /// Client as commands carry it: its instance is app or origin, and the user agent. Control characters, which services
  /// refuse, are left out.
  var field: StartVerification.Client {
    let userAgent = userAgent.map(Self.printable)
    let instance = [(appName ?? origin).map(Self.printable), userAgent].compactMap { $0 }.joined(separator: " ")
    return StartVerification.Client(
      ip: address.isEmpty ? nil : address, userAgent: userAgent,
      instance: instance.isEmpty ? nil : instance.cut(toBytes: StartVerification.Client.maxInstanceBytes))
  }

  private static func printable(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }))
  }
}
