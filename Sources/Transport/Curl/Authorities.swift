import CCurl
import Glibc

/// Certificate authorities that a handle of libcurl trusts.
///
/// Debian's libcurl has a directory of authorities beside a file, and naming a file leaves the directory in force. With
/// a directory libcurl 7.88 parses all authorities for every new connection (`Curl_ssl_setup_x509_store`), some 25 ms
/// of one core instead of 2.
package enum Authorities {
  /// Time for which the authorities of a file are kept. A changed file counts for new connections after at most this;
  /// libcurl's own default is a day (`CURLOPT_CA_CACHE_TIMEOUT`).
  static let cacheTime = Duration.seconds(10)

  /// Trusts those of a PEM file and no others, or the system's.
  package static func set(_ file: String?, on easy: EasyHandle) throws(OptionRefused) {
    if let file { try easy.set(CURLOPT_CAINFO, file) }
    try easy.set(CURLOPT_CA_CACHE_TIMEOUT, Int(cacheTime.components.seconds))
    if file != nil || systemHasFile { try easy.set(CURLOPT_CAPATH, nil) }
  }

  /// Whether the system's authorities are in a file as well, so that its directory is not needed.
  private static let systemHasFile: Bool = {
    guard let easy = curl_easy_init() else { return false }
    defer { curl_easy_cleanup(easy) }
    var path: UnsafeMutableRawPointer?
    guard ccurl_get_pointer(easy, CURLINFO_CAINFO, &path) == CURLE_OK, let path else { return false }
    return access(path.assumingMemoryBound(to: CChar.self), R_OK) == 0
  }()
}
