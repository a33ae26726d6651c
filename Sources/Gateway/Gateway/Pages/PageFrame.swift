import CountersignCryptography
import CountersignEncoding
import HTTPServer

/// Frame of the pages that people see: language, style, and what a page may load.
struct PageFrame: Sendable {
  /// Texts have a contrast of 7:1 at least, light and dark.
  private static let style = """
    :root{color-scheme:light dark;--page:#f3f4f6;--card:#fff;--text:#111827;--line:#6b7280;--act:#1e40af;--on:#fff;\
    --bad:#991b1b}\
    @media(prefers-color-scheme:dark){:root{--page:#0b1120;--card:#1f2937;--text:#f3f4f6;--line:#9ca3af;\
    --act:#bfdbfe;--on:#0b1120;--bad:#fecaca}}\
    body{margin:0;background:var(--page);color:var(--text);font:1rem/1.6 system-ui,sans-serif}\
    main{box-sizing:border-box;max-width:28rem;margin:10vh auto;padding:2rem 2rem 1.25rem;background:var(--card);\
    border-radius:12px}\
    @media(max-width:32rem){main{margin:0;min-height:100vh;border-radius:0}}\
    h1{margin:0 0 1rem;font-size:1.4rem;line-height:1.3}p{margin:0 0 1rem;overflow-wrap:anywhere}\
    input,button,a{box-sizing:border-box;width:100%;margin:.5rem 0;padding:.7rem;border-radius:8px;font:inherit}\
    input{border:1px solid var(--line);background:var(--card);color:var(--text)}\
    #wrong{color:var(--bad)}[aria-invalid]{border:2px solid var(--bad)}\
    button,a{display:block;border:0;background:var(--act);color:var(--on);text-align:center;text-decoration:none}\
    [hidden]{display:none}:focus-visible{outline:3px solid var(--act);outline-offset:3px}
    """

  private static let styleSource = "'sha256-\(Base64.encode(SHA256.hash(Array(style.utf8))))'"

  let texts: ActionTexts

  /// - Parameter language: that of the link. Absent, that of the browser.
  init(_ language: String?, _ request: HTTPServerRequest) {
    texts = ActionTexts(language: language ?? Self.language(of: request))
  }

  /// The first one that a browser prefers.
  private static func language(of request: HTTPServerRequest) -> String? {
    request.headers["Accept-Language"].map { String($0.prefix { $0 != "," && $0 != ";" }) }
  }

  /// A page that nothing may frame and that may load its style alone.
  /// - Parameters:
  ///   - content: HTML below the title.
  ///   - attributes: HTML of attributes of the page's main part.
  ///   - sources: further directives of its policy.
  func page(
    _ title: ActionText, _ content: String, status: Int = 200, attributes: String = "", sources: String = "",
    style: String? = nil
  ) -> CallPage {
    let heading = HTML.escape(texts[title])
    let html = """
      <!DOCTYPE html>
      <html lang="\(texts.languageTag)" dir="\(texts.isRightToLeft ? "rtl" : "ltr")">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="robots" content="noindex">
      <title>\(heading)</title>
      <style>\(Self.style)</style>
      </head>
      <body><main\(attributes)>
      <h1>\(heading)</h1>
      \(content)
      </main></body>
      </html>

      """
    var page = CallPage(
      html: Array(html.utf8),
      policy: """
        default-src 'none'; style-src \(style ?? Self.styleSource); \(sources)form-action 'self'; base-uri 'none'; \
        frame-ancestors 'none'
        """)
    page.status = status
    return page
  }

  /// Page that says that something has failed, and what to do.
  func failure(_ error: ProtocolError, _ text: ActionText = .failed) -> CallPage {
    let isTransient = error.status >= 500 || error.retryAfter != nil
    return page(.problem, paragraph(texts[isTransient ? .later : text]), status: error.status)
  }

  func paragraph(_ text: String) -> String { "<p>\(HTML.escape(text))</p>\n" }

  /// Text that has a direction of its own and stands where the page's language begins its lines.
  func address(_ text: String) -> String { "<p><bdi>\(HTML.escape(text))</bdi></p>\n" }
}
