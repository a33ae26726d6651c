import Curl
import Dispatch

/// An HTTP client on libcurl: pooled connections, HTTP/1.1 and HTTP/2, and an exact answer to whether a request may
/// have left.
///
/// One serial queue drives all transfers; callers on any task share it. It never follows redirects, keeps no cookies,
/// uses no proxy and reads no environment, and never sends a request twice unless it is marked idempotent.
public final class HTTPClient: Sendable {
  let loop: CurlLoop
  private let inbox: RequestInbox

  /// Makes a transport. Connections are opened when they are needed.
  ///
  /// - Throws: `TransportError` when a file of the configuration cannot be read, or libcurl is unusable.
  public init(_ configuration: Configuration = Configuration()) throws(TransportError) {
    let certificate = configuration.clientCertificate
    do {
      try CurlSetUp.prepare(reading: configuration.caFile, certificate?.file, certificate?.keyFile)
    } catch {
      throw TransportError(error)
    }
    inbox = RequestInbox(maxUnanswered: configuration.maxConcurrent + configuration.maxWaiting)
    loop = try CurlLoop(configuration: configuration, inbox: inbox)
  }

  deinit { loop.shutDownInBackground() }

  /// Sends a request and suspends until its answer is complete.
  ///
  /// Canceling the task ends the request at once; if it had begun, the server may still carry it out.
  ///
  /// - Returns: the answer, whatever its status.
  /// - Throws: `TransportError` when there is no answer.
  public func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
    try RequestCheck.check(request)
    guard !Task.isCancelled else { throw .canceledEarly }
    let id = inbox.nextID()
    let deadline = DispatchTime.now().uptimeNanoseconds + request.timeouts.total.nanoseconds
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        submit(RequestSubmission(id: id, request: request, continuation: continuation, deadline: deadline))
        // The handler below may have run in between, before the loop knew the ID.
        if Task.isCancelled { cancel(id) }
      }
    } onCancel: {
      cancel(id)
    }
    return try result.get()
  }

  /// Ends all requests with `.closed`, closes all connections, and refuses further requests. May be called again.
  public func shutdown() async {
    await loop.shutDown()
  }

  private func submit(_ submission: RequestSubmission) {
    switch inbox.submit(submission) {
    case .success(let mustWake): if mustWake { loop.wake() }
    case .failure(let error): submission.continuation.resume(returning: .failure(error))
    }
  }

  private func cancel(_ id: UInt64) {
    if inbox.cancel(id) { loop.wake() }
  }
}
