import CCurl
import Curl
import Dispatch
import Glibc
import TestSupport
import Testing

@testable import HTTPClient

/// A file of authorities replaces the system's: what the system would trust by its directory is refused.
@Suite(
  .enabled(if: geteuid() == 0, "only root can give a thread a directory of authorities of its own"),
  .timeLimit(.minutes(10)))
struct PinnedAuthorityTests {
  @Test func `An HTTP server of another authority is refused`() async throws {
    try await Nginx.run { nginx in
      let system = try nginx.directoryOfAuthorities()
      let refused = await http(nginx, system, caFile: nginx.otherCertificateFile)
      #expect(throws: TransportError.self) { try refused.get() }
      if case .failure(let error) = refused { #expect(error.kind == .certificate) }
      #expect(try await http(nginx, system, caFile: nginx.certificateFile).get().status == 200)
    }
  }

  private func http(
    _ nginx: Nginx, _ system: String, caFile: String
  ) async -> Result<HTTPResponse, TransportError> {
    await withCheckedContinuation { continuation in
      onNewThread {
        #expect(trustOnThisThread(system))
        let submission = RequestSubmission(
          id: 1, request: post(nginx.http1URL), continuation: continuation,
          deadline: DispatchTime.now().uptimeNanoseconds + 20_000_000_000)
        guard let slot = Slot(.init(caFile: caFile), Connections()) else {
          return continuation.resume(returning: .failure(.closed))
        }
        let code = slot.prepare(submission, remaining: 20_000_000_000)
        continuation.resume(returning: slot.result(code == CURLE_OK ? curl_easy_perform(slot.easy.pointer) : code))
      }
    }
  }
}
