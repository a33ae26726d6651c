import HTTPServer

extension HTTPServerResponse {
  init(_ outcome: CallOutcome) {
    switch outcome {
    case .json(let answer): self = .json(200, answer.json, maxAge: answer.maxAge)
    case .page(let page): self.init(page)
    case .redirect(let address):
      self.init(status: 302, headers: Self.privateHeaders(["Location": address]), body: [])
    }
  }

  init(_ error: ProtocolError, form: ErrorForm) {
    self = .json(error.status, form.json(of: error), maxAge: nil)
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
        "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
      ]), body: page.html)
  }

  private static func privateHeaders(_ headers: HTTPServerHeaders) -> HTTPServerHeaders {
    var headers = headers
    headers.add(name: "Cache-Control", value: "no-store")
    headers.add(name: "Referrer-Policy", value: "no-referrer")
    return headers
  }

  private static func json(_ status: Int, _ body: [UInt8], maxAge: Int?) -> HTTPServerResponse {
    HTTPServerResponse(
      status: status,
      headers: [
        "Content-Type": "application/json; charset=utf-8", "X-Content-Type-Options": "nosniff",
        "Cache-Control": maxAge.map { "public, max-age=\($0), must-revalidate" } ?? "no-store",
      ],
      body: body)
  }
}
