import COpenDKIM

/// Signs mail (DomainKeys Identified Mail, RFC 6376 and 8463) with libopendkim: relaxed canonicalization of both parts.
///
/// Sendable, because the handle of the library is only read after `init`, and every signature has a handle of its own.
public final class DKIMSigner: @unchecked Sendable {
  private let library: OpaquePointer

  /// Headers that are signed if present: RFC 6376, 5.4.1, and those of one-click unsubscription (RFC 8058, 4).
  private static let signed = [
    "from", "reply-to", "subject", "date", "to", "cc", "message-id", "in-reply-to", "references", "mime-version",
    "content-type", "content-transfer-encoding", "auto-submitted", "list-id", "list-unsubscribe",
    "list-unsubscribe-post",
  ]

  /// Over-signed headers: each is listed once more than it occurs, so that none can be added (RFC 6376, 8.15).
  private static let guarded = ["from", "reply-to", "subject", "date", "to", "cc", "message-id", "content-type"]

  /// - Throws: `.unavailable` when the library cannot sign with both algorithms.
  public init() throws(DKIMError) {
    guard let library = dkim_init(nil, nil) else { throw DKIMError(.unavailable, "libopendkim has no memory") }
    self.library = library
    guard Self.set(DKIM_OPTS_SIGNHDRS, Self.signed, library), Self.set(DKIM_OPTS_OVERSIGNHDRS, Self.guarded, library)
    else { throw DKIMError(.unavailable, "libopendkim refuses an option") }
    for feature in [DKIM_FEATURE_SHA256, DKIM_FEATURE_ED25519] where !dkim_libfeature(library, UInt32(feature)) {
      throw DKIMError(.unavailable, "libopendkim was built without rsa-sha256 or ed25519-sha256")
    }
  }

  deinit { dkim_close(library) }

  /// Signs a message.
  ///
  /// - Parameters:
  ///   - headers: headers as sent, folded with CRLF, without the final CRLF.
  ///   - body: body as sent, before dot stuffing: lines that end in CRLF.
  ///   - key: signing key.
  /// - Returns: the header `DKIM-Signature`, folded, without the final CRLF.
  /// - Throws: `.failed`.
  public func signature(headers: [String], body: [UInt8], key: DKIMKey) throws(DKIMError) -> String {
    var status = DKIM_STAT_OK
    let algorithm = key.algorithm == .rsa ? DKIM_SIGN_RSASHA256 : DKIM_SIGN_ED25519SHA256
    let handle = key.pem.withUnsafeBufferPointer { pem in
      // The key is only read; the type of the parameter says otherwise.
      dkim_sign(
        library, "countersign", nil, UnsafeMutablePointer(mutating: pem.baseAddress), key.selector, key.domain,
        DKIM_CANON_RELAXED, DKIM_CANON_RELAXED, algorithm, -1, &status)
    }
    guard let handle else { throw Self.failure(status, nil) }
    defer { dkim_free(handle) }
    for header in headers {
      var text = header
      status = text.withUTF8 { bytes in
        dkim_header(handle, UnsafeMutablePointer(mutating: bytes.baseAddress), bytes.count)
      }
      guard status == DKIM_STAT_OK else { throw Self.failure(status, handle) }
    }
    return try sign(handle, body)
  }

  private func sign(_ handle: OpaquePointer, _ body: [UInt8]) throws(DKIMError) -> String {
    var status = dkim_eoh(handle)
    if status == DKIM_STAT_OK, !body.isEmpty {
      status = body.withUnsafeBufferPointer { bytes in
        dkim_body(handle, UnsafeMutablePointer(mutating: bytes.baseAddress), bytes.count)
      }
    }
    if status == DKIM_STAT_OK { status = dkim_eom(handle, nil) }
    guard status == DKIM_STAT_OK else { throw Self.failure(status, handle) }
    let name = "DKIM-Signature: "
    var text: UnsafeMutablePointer<UInt8>?
    var length = 0
    status = dkim_getsighdr_d(handle, name.utf8.count, &text, &length)
    guard status == DKIM_STAT_OK, let text else { throw Self.failure(status, handle) }
    return name + String(decoding: UnsafeBufferPointer(start: text, count: length), as: UTF8.self)
  }

  func canSign(with key: DKIMKey) -> Bool {
    // The reason does not matter: the key has the other algorithm, or is not a key.
    (try? signature(headers: ["From: a@example.com"], body: [], key: key)) != nil
  }

  private static func failure(_ status: Int32, _ handle: OpaquePointer?) -> DKIMError {
    let text = handle.flatMap { dkim_geterror($0) } ?? dkim_getresultstr(status)
    return DKIMError(.failed, "libopendkim: \(text.map { String(cString: $0) } ?? "status \(status)")")
  }

  private static func set(_ option: Int32, _ names: [String], _ library: OpaquePointer) -> Bool {
    let copies = names.map { name in
      name.withCString { text in
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: name.utf8.count + 1)
        copy.update(from: text, count: name.utf8.count + 1)
        return copy
      }
    }
    defer { for copy in copies { copy.deallocate() } }
    let list: [UnsafePointer<CChar>?] = copies.map { UnsafePointer($0) } + [nil]
    return list.withUnsafeBufferPointer { cdkim_set_headers(library, option, $0.baseAddress) } == DKIM_STAT_OK
  }
}

/// Failure to sign a mail.
public struct DKIMError: Error, Sendable, CustomStringConvertible {
  /// Kind of failure.
  public enum Code: Sendable {
    /// The library cannot be used as it is installed.
    case unavailable
    /// The private key cannot sign mail.
    case badKey
    /// The signature could not be made.
    case failed
  }

  public let code: Code
  /// One line, without any part of the key or the message.
  public let description: String

  init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}
