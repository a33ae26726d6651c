import Glibc
import TestSupport
import Testing

@testable import SMTPClient

/// A file of authorities replaces the system's: what the system would trust by its directory is refused.
@Suite(
  .enabled(if: geteuid() == 0, "only root can give a thread a directory of authorities of its own"),
  .timeLimit(.minutes(10)))
struct PinnedAuthorityTests {
  @Test func `An SMTP server of another authority is refused`() async throws {
    try await Nginx.run { nginx in
      let system = try nginx.directoryOfAuthorities()
      #expect(await smtp(nginx, system, caFile: nginx.otherCertificateFile)?.kind == .untrusted)
      // nginx is trusted, and does not speak SMTP.
      #expect(await smtp(nginx, system, caFile: nginx.certificateFile)?.kind == .timedOut)
    }
  }

  private func smtp(_ nginx: Nginx, _ system: String, caFile: String) async -> SMTPFailure? {
    await withCheckedContinuation { continuation in
      onNewThread {
        #expect(trustOnThisThread(system))
        let port = UInt16(nginx.http1URL.split { ":/".contains($0) }.last ?? "") ?? 0
        var configuration = SMTPConfiguration(host: "127.0.0.1", port: port, security: .tls, caFile: caFile)
        configuration.timeouts.connect = .seconds(1)
        configuration.timeouts.command = .seconds(1)
        let result = SMTPHandle(configuration)?.perform(.check, timeout: .seconds(20), isFresh: true) { false }
        guard case .failure(let failure) = result else { return continuation.resume(returning: nil) }
        continuation.resume(returning: failure)
      }
    }
  }
}
