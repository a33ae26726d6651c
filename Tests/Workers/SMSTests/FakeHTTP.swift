import HTTPClient
import JobEngine
import Synchronization

@testable import SMS

final class FakeHTTP: HTTPCaller {
  private let answer: @Sendable () throws(TransportError) -> HTTPResponse
  private let received = Mutex<[HTTPRequest]>([])

  init(_ answer: @escaping @Sendable () throws(TransportError) -> HTTPResponse) {
    self.answer = answer
  }

  convenience init(_ status: Int, _ body: String = "", headers: [(name: String, value: String)] = []) {
    self.init { () throws(TransportError) -> HTTPResponse in
      HTTPResponse(status: status, headers: HTTPHeaders(headers), body: Array(body.utf8))
    }
  }

  var requests: [HTTPRequest] { received.withLock { $0 } }

  func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
    received.withLock { $0.append(request) }
    return try answer()
  }
}

extension HTTPRequest {
  func header(_ name: String) -> String? { headers[name] }

  var bodyText: String { String(decoding: body ?? [], as: UTF8.self) }
}
