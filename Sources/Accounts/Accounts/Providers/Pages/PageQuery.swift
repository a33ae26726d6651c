import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// Query of a provider's page.
struct PageQuery: Sendable {
  let provider: String
  let log: Logger

  init(provider: String, _ context: ProviderContext) {
    self.provider = provider
    log = context.log
  }

  /// Address of a page: its own query, the reserved parameters, and what configuration and app add.
  ///
  /// - Parameters:
  ///   - reserved: the flow's own parameters, which win.
  ///   - configured: of the configuration. The app's win.
  ///   - asked: of the app. Reserved ones are dropped with a line in the log.
  func address(
    _ url: String, reserved: [(name: String, value: String)], configured: [String: String] = [:],
    asked: [String: String]?
  ) -> Secret {
    let own = Set(reserved.map(\.name))
    let isKept = { (name: String) in !OpenIDForms.isReserved(name) && !own.contains(name.lowercased()) }
    let asked = asked ?? [:]
    let dropped = asked.keys.filter { !isKept($0) }.sorted()
    if !dropped.isEmpty {
      log.info(
        "reserved parameters of an app are dropped",
        ["provider": provider, "parameters": dropped.joined(separator: " ")])
    }
    let further = configured.merging(asked) { $1 }.filter { isKept($0.key) }.sorted { $0.key < $1.key }
    let fields = reserved + further.map { (name: $0.key, value: $0.value) }
    let separator = !url.contains("?") ? "?" : url.hasSuffix("?") || url.hasSuffix("&") ? "" : "&"
    return Secret(url + separator + String(decoding: FormEncoding.encode(fields), as: UTF8.self))
  }

  /// Scopes in their order, each once.
  static func scopes(_ lists: [String]?...) -> String {
    var seen: Set<String> = []
    return lists.flatMap { $0 ?? [] }.filter { seen.insert($0).inserted }.joined(separator: " ")
  }

  /// The challenge of a PKCE verifier (RFC 7636, section 4.2).
  static func challenge(_ flow: PageFlow) -> [(name: String, value: String)] {
    [
      (name: "code_challenge", value: Base64URL.encode(SHA256.hash(Array(flow.verifier.utf8)))),
      (name: "code_challenge_method", value: "S256"),
    ]
  }
}
