import CCurl
import Curl
import Dispatch

/// Certificate that a server shows, whatever it serves.
public enum ServerCertificate {
  /// End of the validity of the certificate of a server, without a judgment of who issued it.
  ///
  /// - Parameters:
  ///   - host: name or address of the server, which TLS sends as well.
  ///   - port: port on which TLS begins at once.
  ///   - timeout: time for connection and handshake.
  /// - Returns: seconds since 1970; `nil` without a handshake.
  public static func end(host: String, port: UInt16, timeout: Duration) async -> Int64? {
    // libcurl blocks here, so it runs outside the cooperative pool.
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: text(host, port, timeout).flatMap(seconds)) }
    }
  }

  private static func text(_ host: String, _ port: UInt16, _ timeout: Duration) -> String? {
    guard let easy = EasyHandle() else { return nil }
    defer { easy.cleanUp() }
    do throws(OptionRefused) {
      try easy.set(CURLOPT_URL, "https://\(host):\(port)")
      try easy.set(CURLOPT_NOSIGNAL, 1)
      try easy.set(CURLOPT_PROXY, "")
      try easy.set(CURLOPT_CONNECT_ONLY, 1)
      try easy.set(CURLOPT_CERTINFO, 1)
      // It is only looked at, and nothing is sent.
      try easy.set(CURLOPT_SSL_VERIFYPEER, 0)
      try easy.set(CURLOPT_SSL_VERIFYHOST, 0)
      try easy.set(CURLOPT_TIMEOUT_MS, max(1, Int(timeout / .milliseconds(1))))
    } catch {
      return nil
    }
    var information: UnsafeMutableRawPointer?
    guard curl_easy_perform(easy.pointer) == CURLE_OK,
      ccurl_get_pointer(easy.pointer, CURLINFO_CERTINFO, &information) == CURLE_OK,
      let chain = information?.assumingMemoryBound(to: curl_certinfo.self).pointee, chain.num_of_certs > 0
    else { return nil }
    // The server's own is the first.
    var line = chain.certinfo[0]
    while let entry = line?.pointee {
      let text = entry.data.map { String(cString: $0) } ?? ""
      if text.hasPrefix(field) { return String(text.dropFirst(field.count)) }
      line = entry.next
    }
    return nil
  }

  private static let field = "Expire date:"
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Reads `Nov 24 13:06:00 2026 GMT`, as OpenSSL prints a time.
  static func seconds(_ text: String) -> Int64? {
    let parts = text.split(separator: " ")
    guard parts.count == 5, parts[4] == "GMT", let month = months.firstIndex(of: String(parts[0])),
      let day = Int64(parts[1]), let year = Int64(parts[3]), (1970...9999).contains(year), (1...31).contains(day)
    else { return nil }
    let clock = parts[2].split(separator: ":").compactMap { Int64($0) }
    guard clock.count == 3 else { return nil }
    // Days since 1970 in the Gregorian calendar, with years that begin in March.
    let (y, m) = month < 2 ? (year - 1, Int64(month) + 10) : (year, Int64(month) - 2)
    let days = y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719_468
    return days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
  }
}
