import HTTPServer

extension HTTPServerResponse {
  init(_ outcome: CallOutcome) {
    switch outcome {
    case .json(let answer): self = .json(200, answer.json, maxAge: answer.maxAge)
    case .page(let page): self.init(page)
    case .script(let script): self.init(script: script)
    case .redirect(let address):
      self.init(status: 302, headers: Self.privateHeaders(["Location": address]), body: [])
    }
  }

  init(_ error: ProtocolError, form: ErrorForm, _ request: HTTPServerRequest) {
    if form == .page {
      self.init(PageFrame(nil, request).failure(error))
    } else {
      self = .json(error.status, form.json(of: error), maxAge: nil, form.contentType)
    }
    // RFC 9110, section 15.5.2.
    if form == .problem, error.status == 401 { headers.add(name: "WWW-Authenticate", value: "Bearer") }
    if let seconds = error.retryAfter { headers.add(name: "Retry-After", value: String(seconds)) }
    if !error.allow.isEmpty {
      headers.add(name: "Allow", value: error.allow.joined(separator: ", "))
    }
  }

  private init(_ page: CallPage) {
    self.init(
      status: page.status,
      headers: Self.privateHeaders([
        "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": page.policy,
        "X-Content-Type-Options": "nosniff",
      ]), body: page.html)
    if !page.mayBeFramed { headers.add(name: "X-Frame-Options", value: "DENY") }
  }

  /// Asked for again each time: after an update a page has the script of its version.
  private init(script: [UInt8]) {
    self.init(
      status: 200,
      headers: [
        "Content-Type": "text/javascript; charset=utf-8", "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-cache",
      ], body: script)
  }

  private static func privateHeaders(_ headers: HTTPServerHeaders) -> HTTPServerHeaders {
    var headers = headers
    headers.add(name: "Cache-Control", value: "no-store")
    headers.add(name: "Referrer-Policy", value: "no-referrer")
    return headers
  }

  private static func json(
    _ status: Int, _ body: [UInt8], maxAge: Int?, _ contentType: String = CallAnswer.contentType
  ) -> HTTPServerResponse {
    HTTPServerResponse(
      status: status,
      headers: [
        "Content-Type": contentType, "X-Content-Type-Options": "nosniff",
        "Cache-Control": maxAge.map { "public, max-age=\($0), must-revalidate" } ?? "no-store",
      ],
      body: body)
  }
}
