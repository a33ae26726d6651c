import CountersignCryptography
import CountersignTelemetry
import HTTPServer

/// The published keys of a provider's ID tokens.
struct KeySetStub: ProviderStub {
  let provider: Provider
  let keys: ProviderKeys
  /// `nil` for an answer that says nothing of it.
  var cacheControl: String?

  func call(_ request: HTTPServerRequest, now: UnixTime) throws(ProviderError) -> ProviderCall {
    guard request.method == "GET" else { throw failure(405) }
    return ProviderCall(recipient: "") { (_) throws(ProviderError) in
      do throws(JOSEError) {
        var response = HTTPServerResponse.json(status: 200, try keys.set())
        if let cacheControl { response.headers.add(name: "Cache-Control", value: cacheControl) }
        return response
      } catch {
        throw failure(500)
      }
    }
  }

  func failure(_ status: Int) -> ProviderError { ProviderError("", status: status) }

  func response(to error: ProviderError, _ request: HTTPServerRequest) -> HTTPServerResponse { error.page }
}
