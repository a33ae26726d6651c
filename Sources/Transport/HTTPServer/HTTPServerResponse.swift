/// An answer. `Date`, `Content-Length` and `Connection` are added by the server.
public struct HTTPServerResponse: Sendable {
  /// The status code, 200 to 599.
  public var status: Int
  /// The header fields. One with a line break in it is not sent: the client gets a 500 instead.
  public var headers: HTTPServerHeaders
  /// The body.
  public var body: [UInt8]

  /// Makes an answer.
  public init(status: Int, headers: HTTPServerHeaders = [:], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// An answer with a text body.
  ///
  /// - Parameters:
  ///   - status: the status code, 200 to 599.
  ///   - contentType: the media type of the text.
  ///   - text: the body, sent as UTF-8.
  public init(status: Int, contentType: String = "text/plain; charset=utf-8", text: String) {
    self.init(status: status, headers: ["Content-Type": contentType], body: Array(text.utf8))
  }

  /// Answer to a request that the server refuses, in plain text.
  public static func plain(_ refusal: HTTPServerRefusal) -> HTTPServerResponse {
    switch refusal {
    case .bodyTooLong: HTTPServerResponse(status: 413, text: "The body is too large.\n")
    case .tooManyLongBodies: HTTPServerResponse(status: 503, text: "Too many large bodies are read now.\n")
    case .malformed(let problem): HTTPServerResponse(status: 400, text: "The request cannot be read: \(problem).\n")
    }
  }
}

/// The server's action for a request that a handler has seen.
public enum HTTPServerReply: Sendable {
  /// Sends an answer.
  case respond(HTTPServerResponse)
  /// Sends a TCP reset instead of an answer: the client knows neither that the request was read nor that it was not.
  case reset
  /// Ends the connection in the orderly way (FIN) without an answer.
  case close
}
