import CountersignEncoding
import HTTPServer

extension HTTPServerResponse {
  static func json(status: Int, _ text: String) -> HTTPServerResponse {
    HTTPServerResponse(status: status, contentType: "application/json", text: text)
  }
}

extension JSONReader {
  static let requests = JSONReader(maxBytes: Simulator.maxBodyBytes)
}
