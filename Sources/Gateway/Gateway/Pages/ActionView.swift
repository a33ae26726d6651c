import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import HTTPServer
import Projects

/// HTML of the page that the link of a mail opens, in the language of the link.
struct ActionView: Sendable {
  static let passwordField = "newPassword"

  private static let style = """
    body{margin:0;background:#f3f4f6;color:#111827;font:16px/1.6 system-ui,sans-serif}\
    main{max-width:28rem;margin:10vh auto;padding:2rem;background:#fff;border-radius:12px}\
    h1{margin-top:0;font-size:1.4rem}p{overflow-wrap:anywhere}\
    input,button{box-sizing:border-box;width:100%;margin:.5rem 0;padding:.7rem;font:inherit}
    """

  /// All that it may load is its style, and nothing may frame it.
  private static let policy = """
    default-src 'none'; style-src 'sha256-\(Base64.encode(SHA256.hash(Array(style.utf8))))'; form-action 'self'; \
    base-uri 'none'; frame-ancestors 'none'
    """

  private let texts: ActionTexts
  private let project: Project?
  private let query: CallBody

  init(_ call: Call) {
    project = call.projectOrNil
    query = call.query
    texts = ActionTexts(language: Self.text("lang", of: call.query) ?? Self.language(of: call.request))
  }

  private static func text(_ name: String, of query: CallBody) -> String? {
    // A query has texts only.
    try? query.text(name)
  }

  /// The first one that a browser prefers.
  private static func language(of request: HTTPServerRequest) -> String? {
    request.headers["Accept-Language"].map { String($0.prefix { $0 != "," && $0 != ";" }) }
  }

  // MARK: Pages

  /// Page that says what the link does, with the button that does it.
  func page(_ link: MailLinkApplied, isWeak: Bool = false) -> CallPage {
    // The address that is the account's afterwards: not the one that a thief has put there.
    var content = paragraph(link.purpose == .changeAddress ? link.newEmail ?? link.email : link.email)
    switch link.purpose {
    case .verifyAddress: content += form(.verifyButton)
    case .changeAddress: content += form(.changeButton)
    case .recoverAddress: content += form(.recoverButton)
    case .resetPassword: content += (isWeak ? paragraph(weak) : "") + form(.resetButton, password)
    case .signIn: content = paragraph(texts[.openInApp]) + signInLink
    }
    return page(link.purpose.title, content, status: isWeak ? 400 : 200)
  }

  /// Page that says what the link has done, with a way on.
  func done(_ link: MailLinkApplied) -> CallPage {
    let text: ActionText =
      switch link.purpose {
      case .verifyAddress: .verified
      case .changeAddress: .changed
      case .recoverAddress: .recovered
      case .resetPassword: .wasReset
      case .signIn: .openInApp
      }
    return page(link.purpose.title, paragraph(texts[text]) + anchor(continuePage?.url))
  }

  func failure(_ error: ProtocolError) -> CallPage {
    let isTransient = error.status >= 500 || error.retryAfter != nil
    return page(nil, paragraph(texts[isTransient ? .later : .failed]), status: error.status)
  }

  // MARK: Parts

  private func page(_ title: ActionText?, _ content: String, status: Int = 200) -> CallPage {
    let title = title.map { HTML.escape(texts[$0]) } ?? ""
    let html = """
      <!DOCTYPE html>
      <html lang="\(texts.languageTag)" dir="\(texts.isRightToLeft ? "rtl" : "ltr")">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="robots" content="noindex">
      <title>\(title)</title>
      <style>\(Self.style)</style>
      </head>
      <body><main>
      \(title.isEmpty ? "" : "<h1>\(title)</h1>")
      \(content)
      </main></body>
      </html>

      """
    var page = CallPage(html: Array(html.utf8), policy: Self.policy)
    page.status = status
    return page
  }

  private func paragraph(_ text: String) -> String { "<p dir=\"auto\">\(HTML.escape(text))</p>\n" }

  /// It is sent to the address of the page, which has the code.
  private func form(_ button: ActionText, _ fields: String = "") -> String {
    "<form method=\"post\">\(fields)<button type=\"submit\">\(HTML.escape(texts[button]))</button></form>\n"
  }

  private var password: String {
    let label = HTML.escape(texts[.newPassword])
    return """
      <label>\(label)<input type="password" name="\(Self.passwordField)" autocomplete="new-password" required></label>
      """
  }

  private var weak: String {
    let length = project?.passwords.minLength ?? Project.PasswordRules().minLength
    return texts[.weak].replacing(ActionTexts.count, with: String(length))
  }

  private func anchor(_ url: String?) -> String {
    guard let url else { return "" }
    return "<p><a href=\"\(HTML.escape(url))\" rel=\"noreferrer\">\(HTML.escape(texts[.goOn]))</a></p>\n"
  }

  // MARK: The way on

  /// Only on a host of the project: anybody who has the link can write another page into it.
  private var continuePage: ContinuePage? {
    guard let project, let url = Self.text("continueUrl", of: query) else { return nil }
    return try? ContinuePage(url, of: project)
  }

  /// The app's page signs in, by the parameters of the link.
  private var signInLink: String {
    let known = ["mode", "oobCode", "apiKey", "lang"].compactMap { name in
      Self.text(name, of: query).map { (name: name, value: $0) }
    }
    return anchor(continuePage?.adding(String(decoding: FormEncoding.encode(known), as: UTF8.self)))
  }
}

extension MailLinkPurpose {
  fileprivate var title: ActionText {
    switch self {
    case .verifyAddress: .verify
    case .changeAddress: .change
    case .recoverAddress: .recover
    case .resetPassword: .reset
    case .signIn: .signIn
    }
  }
}

/// Texts in HTML.
enum HTML {
  /// A text for content and for attributes in double quotes.
  static func escape(_ text: String) -> String {
    var escaped = ""
    for character in text.unicodeScalars {
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }
}
