import CCurl
import Glibc

/// Preparation that every client on libcurl needs.
package enum CurlSetUp {
  /// Reason that a client cannot be made. Safe to log.
  package enum Failure: Error {
    /// libcurl did not start.
    case library(String)
    /// A file of certificates or keys cannot be read.
    case file(String)
  }

  /// Starts libcurl, once per process, and checks that the files of a client can be read.
  package static func prepare(reading files: String?...) throws(Failure) {
    let code = started
    guard code == CURLE_OK else { throw .library("libcurl did not start (\(code.rawValue))") }
    for case let file? in files where access(file, R_OK) != 0 {
      throw .file("cannot read \(file): \(String(cString: strerror(errno)))")
    }
  }

  /// Before any other call (libcurl(3), "global preparation").
  private static let started: CURLcode = {
    ccurl_ignore_sigpipe()
    return curl_global_init(Int(CURL_GLOBAL_DEFAULT))
  }()
}

extension Duration {
  /// Whole nanoseconds, from 0 to some 290 years.
  package var nanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    guard seconds < 9_000_000_000 else { return 9_000_000_000_000_000_000 }
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }
}
