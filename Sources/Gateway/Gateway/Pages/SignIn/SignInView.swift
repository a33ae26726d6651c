import CountersignEncoding
import HTTPServer

/// HTML of the handler. What its script needs stands in attributes.
struct SignInView: Sendable {
  private let frame: PageFrame

  /// Fields of a provider's answer, by the names of the call's fields.
  private static let fields = [
    ("code", "code"), ("state", "state"), ("iss", "iss"), ("idToken", "id_token"), ("accessToken", "access_token"),
    ("user", "user"), ("error", "error"),
  ]
  private static let ownScript = "script-src 'self'; "
  /// reCAPTCHA makes its own style, and asks Google only.
  private static let checkSources = """
    script-src 'self' https://www.google.com/recaptcha/ https://www.gstatic.com/recaptcha/; \
    frame-src https://www.google.com/recaptcha/ https://recaptcha.google.com/recaptcha/; \
    connect-src https://www.google.com/recaptcha/; img-src https://www.gstatic.com/recaptcha/;\u{20}
    """

  init(_ call: Call) {
    // A query has texts only.
    frame = PageFrame(try? call.query.text("hl"), call.request)
  }

  /// Page that leads to the provider.
  func start(_ target: SignInTarget, at address: String) -> CallPage {
    page(.signIn, "start", [("context", target.context), ("address", address)])
  }

  /// Page that takes the provider's answer from its own address, or from the form that the provider has sent.
  func answer(_ form: CallBody? = nil) -> CallPage {
    guard let form else { return page(.signIn, "answer", []) }
    let fields = Self.fields.compactMap { name, sent in
      // A form has texts only.
      (try? form.text(name)).map { (name: sent, value: $0) }
    }
    return page(.signIn, "answer", [("answer", String(decoding: FormEncoding.encode(fields), as: UTF8.self))])
  }

  /// Page that checks the app by reCAPTCHA.
  func check(_ target: SignInTarget, siteKey: String?) -> CallPage {
    guard let siteKey else {
      return page(
        .check, "failed", [("context", target.context), ("error", "INTERNAL_ERROR")], .checkFailed, status: 500)
    }
    return page(
      .check, "check",
      [("context", target.context), ("sitekey", siteKey), ("language", frame.texts.languageTag)],
      sources: Self.checkSources, style: "'unsafe-inline'")
  }

  /// Page that tells the SDK what has failed, and the user what to do.
  func failed(_ target: SignInTarget, _ error: ProtocolError) -> CallPage {
    let isTransient = error.status >= 500 || error.retryAfter != nil
    let text: ActionText = isTransient ? .later : error == .providerOff ? .off : .notSignedIn
    return page(
      .problem, "failed", [("context", target.context), ("error", error.code)], text, status: error.status)
  }

  /// Page of a request that no SDK of the project has made: the user alone is told.
  func foreign(_ error: ProtocolError) -> CallPage { frame.failure(error, .foreign) }

  // MARK: Parts

  /// - Parameter shown: text that stays. Absent, the script shows one of the others.
  private func page(
    _ title: ActionText, _ name: String, _ values: [(name: String, value: String)], _ shown: ActionText? = nil,
    status: Int = 200, sources: String = ownScript, style: String? = nil
  ) -> CallPage {
    let attributes = ([(name: "page", value: name)] + values).map { " data-\($0.name)=\"\(HTML.escape($0.value))\"" }
    let texts = frame.texts
    let messages: [(String, ActionText)] = [
      ("wait", .wait), ("done", .done), ("lost", name == "check" ? .checkFailed : .notSignedIn),
      ("storage", .noStorage),
    ]
    let content = """
      <div role="status">
      \(shown.map { frame.paragraph(texts[$0]) } ?? messages.map { message(texts[$1], $0) }.joined())</div>
      <a id="app" hidden>\(HTML.escape(texts[.toApp]))</a>
      <div id="check"></div>
      <noscript>\(frame.paragraph(texts[.noScript]))</noscript>
      <script src="handler.js"></script>
      """
    return frame.page(
      title, content, status: status, attributes: attributes.joined(), sources: sources, style: style)
  }

  private func message(_ text: String, _ name: String) -> String {
    "<p data-text=\"\(name)\" hidden>\(HTML.escape(text))</p>\n"
  }
}

extension ProtocolError {
  /// The code for the event of a page.
  fileprivate var code: String {
    if status >= 503 || retryAfter != nil { return "NETWORK_REQUEST_FAILED" }
    return status < 500 && word == nil ? String(message.prefix { $0 != " " }) : "INTERNAL_ERROR"
  }
}
