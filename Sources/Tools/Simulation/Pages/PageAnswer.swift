import CountersignEncoding
import HTTPServer

/// Way back from the page of a provider, by a redirect or by a form that submits itself.
enum PageAnswer {
  static func response(_ fields: [(name: String, value: String)], mode: String, to address: String)
    -> HTTPServerResponse
  {
    switch mode {
    case "form_post": return page(fields, address)
    case "fragment": return redirect(address + "#" + String(decoding: FormEncoding.encode(fields), as: UTF8.self))
    default: return redirect(FormEncoding.append(fields, to: address))
    }
  }

  static func redirect(_ address: String) -> HTTPServerResponse {
    HTTPServerResponse(status: 302, headers: ["Location": address, "Cache-Control": "no-store"])
  }

  /// Form post response mode (https://openid.net/specs/oauth-v2-form-post-response-mode-1_0.html).
  private static func page(_ fields: [(name: String, value: String)], _ address: String) -> HTTPServerResponse {
    let inputs = fields.map {
      #"<input type="hidden" name="\#(HTML.escape($0.name))" value="\#(HTML.escape($0.value))">"#
    }
    return html(
      status: 200,
      """
      <form method="post" action="\(HTML.escape(address))">\(inputs.joined())</form>
      <script>document.forms[0].submit()</script>
      """)
  }

  static func html(status: Int, _ body: String) -> HTTPServerResponse {
    HTTPServerResponse(
      status: status, headers: ["Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store"],
      body: Array("<!doctype html><title>Simulated provider</title>\(body)\n".utf8))
  }
}
