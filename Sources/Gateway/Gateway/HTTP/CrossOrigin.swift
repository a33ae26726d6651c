import HTTPServer

/// Cross-origin resource sharing (WHATWG Fetch, section 3.2): pages of any origin may read what they are answered,
/// errors and refusals too, except for ``hidden`` ones. There are no cookies, so an origin proves nothing and opens
/// nothing.
enum CrossOrigin {
  /// Statuses that pages do not read where that ``Route/keepsUsers``: their `fetch` fails as without a network.
  private static let hidden: Set<Int> = [500, 503]
  /// Seconds for which a browser may keep the answer to a preflight.
  private static let maxAge = 3_600

  static func isPreflight(_ request: HTTPServerRequest) -> Bool {
    request.method == "OPTIONS"
  }

  static func preflight(_ request: HTTPServerRequest, isDevelopment: Bool) -> HTTPServerResponse {
    var response = HTTPServerResponse(status: 204)
    add(to: &response, request)
    if let method = visible(request.headers["Access-Control-Request-Method"]) {
      response.headers.add(name: "Access-Control-Allow-Methods", value: method)
    }
    if let names = visible(request.headers["Access-Control-Request-Headers"]) {
      response.headers.add(name: "Access-Control-Allow-Headers", value: names)
    }
    if isDevelopment, request.headers["Access-Control-Request-Private-Network"] == "true" {
      response.headers.add(name: "Access-Control-Allow-Private-Network", value: "true")
    }
    response.headers.add(name: "Access-Control-Max-Age", value: String(maxAge))
    return response
  }

  static func add(to response: inout HTTPServerResponse, _ request: HTTPServerRequest, keepsUsers: Bool = false) {
    response.headers.add(
      name: "Vary",
      value: isPreflight(request)
        ? "Origin, Access-Control-Request-Method, Access-Control-Request-Headers" : "Origin")
    guard !(keepsUsers && hidden.contains(response.status)), let origin = visible(request.headers["Origin"]) else {
      return
    }
    response.headers.add(name: "Access-Control-Allow-Origin", value: origin)
  }

  private static func visible(_ value: String?) -> String? {
    guard let value, !value.isEmpty, value.utf8.count <= 1_024, value.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    else { return nil }
    return value
  }
}
