import CCurl
import Dispatch
import Glibc
import Testing

@testable import HTTPClient

/// A file of authorities replaces the system's: what the system would trust by its directory is refused.
@Suite(
  .enabled(if: geteuid() == 0, "only root can give a thread a directory of authorities of its own"),
  .timeLimit(.minutes(1)))
struct PinnedAuthorityTests {
  @Test("An HTTP server of another authority is refused") func anHTTPServerOfAnotherAuthorityIsRefused() async throws {
    try await Nginx.run { nginx in
      let system = try nginx.directoryOfAuthorities()
      let refused = await http(nginx, system, caFile: nginx.otherCertificateFile)
      #expect(throws: TransportError.self) { try refused.get() }
      if case .failure(let error) = refused { #expect(error.kind == .tls) }
      #expect(try await http(nginx, system, caFile: nginx.certificateFile).get().status == 200)
    }
  }

  @Test("An SMTP server of another authority is refused") func anSMTPServerOfAnotherAuthorityIsRefused() async throws {
    try await Nginx.run { nginx in
      let system = try nginx.directoryOfAuthorities()
      #expect(await smtp(nginx, system, caFile: nginx.otherCertificateFile)?.kind == .untrusted)
      // nginx is trusted, and does not speak SMTP.
      #expect(await smtp(nginx, system, caFile: nginx.certificateFile)?.kind == .timedOut)
    }
  }

  private func http(
    _ nginx: Nginx, _ system: String, caFile: String
  ) async -> Result<HTTPResponse, TransportError> {
    await withCheckedContinuation { continuation in
      onNewThread {
        trust(system)
        let submission = RequestSubmission(
          id: 1, request: post(nginx.http1URL), continuation: continuation,
          deadline: DispatchTime.now().uptimeNanoseconds + 20_000_000_000)
        guard let slot = Slot(.init(caFile: caFile), Connections()) else {
          return continuation.resume(returning: .failure(.closed))
        }
        let code = slot.prepare(submission, remaining: 20_000_000_000)
        continuation.resume(returning: slot.result(code == CURLE_OK ? curl_easy_perform(slot.easy) : code))
      }
    }
  }

  private func smtp(_ nginx: Nginx, _ system: String, caFile: String) async -> SMTPFailure? {
    await withCheckedContinuation { continuation in
      onNewThread {
        trust(system)
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

/// Makes the system's directory of authorities another one, for this thread alone.
private func trust(_ directory: String) {
  typealias Mount =
    @convention(c) (
      UnsafePointer<CChar>?, UnsafePointer<CChar>, UnsafePointer<CChar>?, UInt, UnsafeRawPointer?
    ) -> Int32
  typealias Unshare = @convention(c) (Int32) -> Int32
  // Neither these nor their flags are in Swift's module of the C library: CLONE_NEWNS, MS_REC and MS_PRIVATE, MS_BIND.
  let unshare = unsafeBitCast(dlsym(nil, "unshare"), to: Unshare.self)
  let mount = unsafeBitCast(dlsym(nil, "mount"), to: Mount.self)
  #expect(unshare(0x20000) == 0)
  #expect(mount("none", "/", nil, 0x4000 | 0x40000, nil) == 0)
  #expect(mount(directory, "/etc/ssl/certs", nil, 0x1000, nil) == 0)
}
